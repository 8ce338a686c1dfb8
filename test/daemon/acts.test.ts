import { expect, test } from 'vitest';
import { openActServices } from '../../src/daemon/acts.ts';
import type { Stores } from '../../src/daemon/stores.ts';
import { recordAct } from '../../src/operator/control/recording.ts';
import type { Configuration } from '../../src/settings/configuration.ts';
import { NOW } from '../domain/arbitraries.ts';
import { person } from '../operator/control/acting.ts';

const CONFIGURATION = {
  settings: { secrets: { identityKey: { reveal: () => new Uint8Array(32) } }, auditLog: { reasonFor: [] } },
} as unknown as Configuration;

test('an action without an audit log writes one JSON line at its begin and one at its end, with user and reason', async () => {
  const written: string[] = [];
  const stores = { auditLog: null } as unknown as Stores;
  const lines = { write: (line: string) => written.push(line) };
  const actServices = openActServices(
    () => CONFIGURATION,
    stores,
    () => NOW,
    lines,
  );
  const acting = { who: person('anna', 'Anna Bianchi'), why: 'INC-7', actServices };
  await recordAct(acting, { verb: 'forget', tenant: 'aurora', what: { erased: 3 } }, async () => 'done');
  expect(written.every((line) => line.endsWith('\n') && line.trim().split('\n').length === 1)).toBe(true);
  const told = {
    ...{ audit: true, time: new Date(NOW).toISOString(), verb: 'forget', tenant: 'aurora', what: { erased: 3 } },
    ...{ who: { name: 'anna', claimed: 'Anna Bianchi' }, why: 'INC-7' },
  };
  expect(written.map((line) => JSON.parse(line))).toMatchObject([
    { ...told, outcome: 'begun' },
    { ...told, outcome: 'done' },
  ]);
});
