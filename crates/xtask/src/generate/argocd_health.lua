local health = {status = "Progressing", message = "Waiting for the first report of the controller."}
if obj.status == nil or obj.status.conditions == nil then
  return health
end
local ready, stalled
for _, condition in ipairs(obj.status.conditions) do
  if condition.type == "Ready" then
    ready = condition
  elseif condition.type == "Stalled" and condition.status == "True" then
    stalled = condition
  end
end
if ready == nil then
  return health
end
if obj.status.observedGeneration ~= nil and obj.status.observedGeneration ~= obj.metadata.generation then
  health.message = "The newest generation has not been reconciled yet."
  return health
end
health.message = ready.reason .. ": " .. ready.message
if ready.status == "True" then
  health.status = "Healthy"
elseif stalled ~= nil then
  health.status = "Degraded"
elseif ready.reason == "Paused" or ready.reason == "AwaitingApproval" then
  health.status = "Suspended"
end
return health
