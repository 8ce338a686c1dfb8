-- Reads the managed tenants in one step, so that no change lies between a revision and its document.
-- KEYS: 1 revisions by tenant, with the version and the head, 2 documents by tenant. ARGV: tenants that are known, each with its revision.
-- Answers the whole first hash, then the documents of all tenants whose revision is not the known one, each behind its tenant.
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
