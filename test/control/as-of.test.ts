import { expect, test } from 'vitest';
import { withoutFuture } from '../../src/control/as-of.ts';
import type { TenantStatus } from '../../src/control/status-view.ts';

const NOW = 1_800_000_000_000;

/** A tenant with one target, both in sync as of a time. */
function inSyncAsOf(at: number | null): TenantStatus {
  const proof = { inSyncAsOf: at, sync: 'in-sync' };
  return { ...proof, targets: [{ ...proof, soonAsOf: at, exceptGapsAsOf: at }] } as unknown as TenantStatus;
}

test.each([
  ['of the past stays', NOW - 1_000, NOW - 1_000, 'in-sync'],
  ['a little ahead of Redis is cut off', NOW + 30_000, NOW, 'in-sync'],
  ['in the future proves nothing', NOW + 30_001, null, 'unknown'],
  ['that is unknown stays unknown', null, null, 'in-sync'],
])('a time %s', (_, at, shown, sync) => {
  const tenant = withoutFuture(inSyncAsOf(at), NOW);
  expect(tenant).toMatchObject({ inSyncAsOf: shown, sync });
  expect(tenant.targets).toMatchObject([{ inSyncAsOf: shown, sync, soonAsOf: shown, exceptGapsAsOf: shown }]);
});
