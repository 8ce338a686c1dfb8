import { expect } from 'vitest';
import type { SmallTenant } from './small-configuration.ts';
import { type DavServer, FAMILIES } from './small-targets.ts';
import { type SmallWorld, useSmallWorld } from './small-world.ts';

const CAREFUL = { vanished: { share: 0.1, count: 3 }, cancelled: { share: 0.1, count: 3 } };

/** The servers that a file of tests starts. */
interface Servers {
  redisUrl: string;
  davServer: DavServer;
}

/** A world with one target of every family. */
export function openWorld(servers: Servers, target: object): Promise<SmallWorld> {
  return useSmallWorld({ ...servers, targets: FAMILIES, appointments: 120, target });
}

/** A world in sync whose guard holds more than three removals. */
export async function syncedWorld(
  servers: Servers,
): Promise<{ world: SmallWorld; clinicId: string; agendaIds: string[] }> {
  const world = await openWorld(servers, { guard: CAREFUL });
  await world.cycle();
  const { clinicId, agendaIds } = world.tenants[0] as SmallTenant;
  return { world, clinicId, agendaIds };
}

/** Forgets what the proxies of the targets have seen. */
export function forgetTraffic({ targets }: SmallWorld): void {
  for (const { proxy } of targets) proxy.forget();
}

/** The next six visits of an agenda, from tomorrow on. */
export function upcoming({ clinic }: SmallWorld, clinicId: string, inAgenda: string) {
  const tomorrow = clinic.clock() + 86_400_000;
  const visits = [...clinic.appointments(clinicId)].filter(
    ({ agendaId, start, status, deleted, patientId }) =>
      agendaId === inAgenda && start > tomorrow && status === 'Booked' && !deleted && patientId !== null,
  );
  return visits.slice(0, 6);
}

/** All holds. */
export async function listHolds(world: SmallWorld): Promise<{ id: string; kind: string }[]> {
  const { out } = await world.cli('holds', 'list', '--json');
  return (JSON.parse(out) as { items: { id: string; kind: string }[] }).items;
}

/** Decides holds with the command line. */
export async function decide(world: SmallWorld, answer: 'approve' | 'reject', holds: readonly string[]): Promise<void> {
  const decided = await Promise.all(holds.map((hold) => world.cli('holds', answer, 'clinic-1', hold)));
  expect(decided.map(({ code }) => code)).toEqual(holds.map(() => 0));
}
