// Loaded by `node --import` into a daemon: resolves names to IP addresses (TEST_NAMES, as JSON), like a name server that points to the
// internal network.
import dns from 'node:dns';
import { syncBuiltinESMExports } from 'node:module';

const names = new Map(Object.entries(JSON.parse(process.env.TEST_NAMES ?? '{}') as Record<string, string>));
const { lookup } = dns.promises;
const named = async (name: string, options: dns.LookupOptions) => {
  const address = names.get(name);
  return address === undefined ? lookup(name, options) : [{ address, family: 4 }];
};
dns.promises.lookup = named as typeof lookup;
syncBuiltinESMExports();
