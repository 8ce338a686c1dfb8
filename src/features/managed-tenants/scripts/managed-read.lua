-- Reads the managed tenants in one step, so that revisions match their documents.
-- KEYS: 1 revisions by tenant, with version and head, 2 documents by tenant. ARGV: known tenants, each with its revision.
-- Returns the whole first hash, then tenant and document of each tenant with a changed revision.
local readRevisions = {}
for at = 1, #ARGV, 2 do readRevisions[ARGV[at]] = ARGV[at + 1] end
local revisions = redis.call('HGETALL', KEYS[1])
local documents = {}
for at = 1, #revisions, 2 do
  local tenant = revisions[at]
  local document = readRevisions[tenant] ~= revisions[at + 1] and redis.call('HGET', KEYS[2], tenant)
  if document then
    documents[#documents + 1] = tenant
    documents[#documents + 1] = document
  end
end
return { revisions, documents }
