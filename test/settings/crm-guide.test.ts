import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parse, stringify } from 'yaml';
import { connectors } from '../../src/connectors/registry.ts';
import { checkTenantReferences } from '../../src/settings/cross-checks.ts';
import { faultsOf, tenantWith } from './crm-file.ts';

const GUIDE = readFileSync(join(import.meta.dirname, '../../docs/crm.md'), 'utf8');
const SAMPLE = /```yaml\n([\s\S]*?)```/.exec(GUIDE)?.[1] ?? '';

test('the targets of the guide are without faults, as they stand there', () => {
  const { connections, targets } = parse(SAMPLE) as {
    connections: object;
    targets: Record<string, { settings: object }>;
  };
  const lines = (value: object) => stringify(value).replaceAll(/^/gm, '  ');
  const file = tenantWith(`${lines(targets)}\nconnections:\n${lines(connections)}`);
  expect(Object.keys(targets)).toEqual(['contacts', 'visits']);
  for (const [id, { settings }] of Object.entries(targets)) {
    expect(faultsOf(file, id)).toEqual([]);
    expect(connectors.get('hubspot')?.settingsSchema.safeParse(settings).success).toBe(true);
  }
  const known = {
    clinicClients: null,
    vendorClients: null,
    connectors,
    reminderChannels: new Map(),
    outbound: null,
    publicUrl: undefined,
    consents: () => ['marketing'],
    links: () => null,
  };
  expect(checkTenantReferences(file, known)).toEqual([]);
});
