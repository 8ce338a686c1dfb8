import type { Doubt } from '../state/protection.ts';
import type { OpenTarget, OpenTenant } from './tenant.ts';

/** Keeps a copy of what protects people, and remembers that this state has seen all that there is. */
export async function noteProtection(
  tenant: OpenTenant,
  targets: readonly OpenTarget[],
  doubt: Doubt | null,
): Promise<void> {
  const records = await Promise.all(targets.map(({ id }) => tenant.records.read(id)));
  await tenant.protection.cycleEnded({
    allSeen: doubt === null && records.every(({ adoptedAt }) => adoptedAt !== null),
  });
  if (doubt === null) return void (await tenant.protection.copyOut());
  tenant.log.error(
    doubt,
    'it is not known who was forgotten: nothing is written or sent of people until a person decides',
  );
}
