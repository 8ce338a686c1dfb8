import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ConfigurationFiles } from '../../src/settings/configuration-files.ts';
import { tenantSecretFile } from '../../src/settings/tenant-secrets.ts';
import { CHANNELS, CONNECTORS, ENV, SETTINGS, TENANT, writeConfiguration } from './configuration-directory.ts';

const OF_TENANT = tenantSecretFile('uno', 'dav');

function open() {
  const dir = writeConfiguration({
    'client.secret': 'shh',
    [OF_TENANT]: 'shh',
    'clinic-mirror.yaml': SETTINGS.replace(
      'clientSecret: { env: CLIENT_SECRET }',
      'clientSecret: { file: client.secret }',
    ),
    'tenants/uno.yaml': TENANT.replace(
      'targets:',
      '  dav: { kind: caldav, username: u, password: { file: OWN/dav } }\ntargets:',
    ),
  });
  const files = new ConfigurationFiles({
    ...{ dir, env: ENV, connectors: CONNECTORS, reminderChannels: CHANNELS, mode: 'strict' },
  });
  const withMode = (mode: number) => {
    for (const name of ['client.secret', OF_TENANT]) chmodSync(join(dir, name), mode);
    return [files.openSecrets(null), files.openSecrets('uno')];
  };
  return { dir, withMode };
}

test('a file of a secret that everybody may read is told by the setting and as the setting names it', () => {
  const { withMode } = open();
  expect(withMode(0o644)).toEqual([
    [{ at: 'clinicClients.main.clientSecret', file: 'client.secret' }],
    [{ at: 'connections.dav.password', file: OF_TENANT }],
  ]);
  expect(withMode(0o604).flat()).toHaveLength(2);
});

test('one that its owner and group alone may read is not told, and neither is one that no setting names', () => {
  const { dir, withMode } = open();
  for (const mode of [0o600, 0o640, 0o400]) expect(withMode(mode)).toEqual([[], []]);
  writeFileSync(join(dir, 'unnamed'), 'shh', { mode: 0o644 });
  expect(withMode(0o600)).toEqual([[], []]);
});
