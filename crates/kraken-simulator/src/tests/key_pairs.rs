//! Key pairs.

use super::account::Account;
use crate::base64::encoded;
use crate::{Kind, Simulator, SimulatorOptions};

fn material() -> String {
    encoded(b"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ8Nxx me@here\n")
}

#[test]
fn a_key_is_imported_once_per_name() {
    let mut account = Account::new();
    let import = format!("KeyName=mine PublicKeyMaterial={}", material());
    let made = account.ok("ImportKeyPair", &import);
    let id = made.text_at(&["keyPairId"]);
    assert!(id.starts_with("key-") && made.text_at(&["keyName"]) == "mine", "{made:?}");
    assert_eq!(account.code("ImportKeyPair", &import), "InvalidKeyPair.Duplicate");
    assert_eq!(account.code("CreateKeyPair", "KeyName=mine"), "InvalidKeyPair.Duplicate");
    let described = account.only("DescribeKeyPairs", "KeyName.1=mine", "keySet");
    assert_eq!((described.text_at(&["keyType"]), described.child("publicKey")), ("ed25519".to_owned(), None));
    let described = account.only("DescribeKeyPairs", "KeyName.1=mine IncludePublicKey=true", "keySet");
    assert!(described.text_at(&["publicKey"]).starts_with("ssh-ed25519 "));
    account.ok("DeleteKeyPair", "KeyName=mine");
    account.ok("DeleteKeyPair", "KeyName=mine");
    let (code, message) = account.no("DescribeKeyPairs", "KeyName.1=mine");
    assert_eq!(code, "InvalidKeyPair.NotFound");
    assert_eq!(message, "The key pair 'mine' does not exist");
    assert_eq!(account.code("DeleteKeyPair", &format!("KeyPairId={id}")), "InvalidKeyPair.NotFound");
}

#[test]
fn a_key_pair_is_recorded_with_its_name_while_it_exists() {
    let simulator = Simulator::in_process(SimulatorOptions::default());
    let ids = simulator.out_of_band("CreateKeyPair", &[("KeyName", "mine")]).unwrap();
    let name = || simulator.objects(Kind::KeyPair).into_iter().next().unwrap().name;
    assert_eq!(name().as_deref(), Some("mine"));
    simulator.delete_out_of_band(&ids[0]).unwrap();
    assert_eq!(name(), None);
}

#[test]
fn a_text_that_is_not_a_public_key_is_rejected() {
    let mut account = Account::new();
    for text in [&b"moon"[..], b"ssh-rsa", b"ssh-moon AAAA", b"ssh-rsa %%%%"] {
        let fields = format!("KeyName=mine PublicKeyMaterial={}", encoded(text));
        assert_eq!(account.code("ImportKeyPair", &fields), "InvalidKey.Format");
    }
}

#[test]
fn a_generated_private_key_is_returned_once() {
    let mut account = Account::new();
    let made = account.ok("CreateKeyPair", "KeyName=mine");
    assert!(made.text_at(&["keyMaterial"]).starts_with("-----BEGIN"));
    assert_eq!(made.text_at(&["keyFingerprint"]).split(':').count(), 20);
    let described = account.only("DescribeKeyPairs", "", "keySet");
    assert_eq!((described.text_at(&["keyType"]), described.child("keyMaterial")), ("rsa".to_owned(), None));
}

#[test]
fn a_strict_network_rejects_missing_keys() {
    let mut account = Account::with(|options| options.strict_network = true);
    let launch = "ImageId=ami-12c6146b MinCount=1 MaxCount=1 KeyName=mine";
    assert_eq!(account.code("RunInstances", launch), "InvalidKeyPair.NotFound");
    account.ok("CreateKeyPair", "KeyName=mine");
    account.ok("RunInstances", launch);
}
