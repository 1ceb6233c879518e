//! The parameters that everyone with permission to describe the objects of a cloud can read: names, descriptions and tags.

use super::form::Form;

/// The names, descriptions and tags among the parameters of a call.
pub(super) fn public(form: &Form) -> impl Iterator<Item = &str> {
    form.all().filter(|(name, _)| is_public(name)).map(|(_, value)| value)
}

fn is_public(parameter: &str) -> bool {
    let last = parameter.rsplit('.').next().unwrap_or_default();
    let is_of_tag = parameter.split('.').any(|part| part.starts_with("Tag"));
    is_of_tag || last.ends_with("Name") || last.ends_with("Description")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_descriptions_and_tags_are_public_and_other_parameters_are_not() {
        let form = Form::parse(
            "Action=RunInstances&KeyName=k&UserData=secret&SubnetId=subnet&TargetGroupArn=arn&GroupDescription=d\
             &TagSpecification.1.Tag.1.Key=Team&TagSpecification.1.Tag.1.Value=web&Tags.member.1.Value=t&Name=n",
        );
        let mut texts: Vec<&str> = public(&form).collect();
        texts.sort_unstable();
        assert_eq!(texts, ["Team", "d", "k", "n", "t", "web"]);
    }
}
