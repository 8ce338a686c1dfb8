import { describe, expect, test } from 'vitest';
import { MirrorError } from '../../src/core/model/errors.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../src/core/model/time.ts';
import type { RunReport } from '../../src/domain/runs.ts';
import { render } from '../../src/messages/message.ts';
import { targetStatus } from '../../src/operator/control/status.ts';
import { areCrmsElsewhere, areStreamsDue, pullAfresh, pullTenant, readStreamsInTurn } from '../../src/tenant/pull.ts';
import type { OpenTenant } from '../../src/tenant/tenant.ts';
import { appointmentOf } from '../domain/arbitraries.ts';
import { useRedis } from '../support/redis.ts';
import { waitFor } from '../support/wait-for.ts';
import { cycle, drain, NEVER, pull, pullAlone, targetOf } from './cycle.ts';
import type { ModelClinic } from './model-clinic.ts';
import { type CrmWorld, held, openCrmWorld, patientOf } from './world.ts';

const redis = useRedis();
const CRMS = ['contacts', 'activities'];
const BESIDE = { takesOver: false };
const INSTEAD = { takesOver: true };
const refused = new MirrorError('refused', { actor: 'remote', code: 'server-error', retry: 'later', status: 503 });

/** A clinic with a calendar and CRMs, one patient and their appointment. */
function open(): CrmWorld {
  const world = openCrmWorld(redis, { calendar: true });
  admit(world, '1');
  book(world, 'a', '1');
  return world;
}

function admit({ clinic }: CrmWorld, ...ids: string[]) {
  clinic.patientList.push(...ids.map((id) => patientOf(id)));
}

function rename({ clinic }: CrmWorld, id: string, lastName: string) {
  const at = clinic.patientList.findIndex((patient) => patient.id === id);
  clinic.patientList.splice(at, 1, patientOf(id, { lastName }));
}

function book({ clinic }: CrmWorld, id: string, patientId: string) {
  clinic.appointments.set(id, { ...appointmentOf(id), patientId });
}

const names = (world: CrmWorld) => held(world.contacts).map(({ lastname }) => lastname);
const plannedIn = ({ targets }: RunReport) => targets.map(({ target }) => target);

async function write(tenant: OpenTenant) {
  for (const target of tenant.targets.values()) await drain(tenant, target);
}

/** Delays answers of one kind until they are released. */
function holding<Name extends 'readPatients' | 'readAppointments'>(clinic: ModelClinic, name: Name) {
  const answer = Promise.withResolvers<void>();
  const state = { asked: 0, letGo: () => answer.resolve() };
  const read = clinic[name].bind(clinic) as (...given: unknown[]) => unknown;
  clinic[name] = (async (...given: unknown[]) => {
    state.asked += 1;
    await answer.promise;
    return read(...given);
  }) as ModelClinic[Name];
  return state;
}

describe('during the fetch of the patient list', () => {
  test('calendars are planned and written, and the CRM follows when the list is complete', async () => {
    const world = open();
    const { tenant } = world;
    const patients = holding(world.clinic, 'readPatients');
    const first = await pullAlone(tenant);
    expect([plannedIn(first), first.awaiting, first.withheld]).toEqual([['doctor'], CRMS, []]);
    expect(await areStreamsDue(tenant, first)).toBe(true);
    const reading = readStreamsInTurn(tenant, BESIDE, NEVER);
    await waitFor(() => patients.asked === 1, { what: 'the list of patients being asked for' });
    book(world, 'b', '1');
    expect((await pullAlone(tenant)).awaiting).toEqual(CRMS);
    await write(tenant);
    expect(world.calendar.objects()).toHaveLength(2);
    expect(world.contacts.objects()).toEqual([]);
    patients.letGo();
    const { run } = await reading;
    expect([run?.awaiting, await areStreamsDue(tenant, run as RunReport)]).toEqual([[], false]);
    await write(tenant);
    expect(names(world)).toEqual(['Verdi 1']);
    expect(world.activities.objects()).toHaveLength(2);
  });

  test('the CRM continues with the known list for a limited time', async () => {
    const world = open();
    await cycle(world.tenant);
    world.clock.now += 15 * MINUTE_MS;
    book(world, 'b', '1');
    const run = await pullAlone(world.tenant);
    await write(world.tenant);
    expect(await areStreamsDue(world.tenant, run)).toBe(true);
    expect(world.activities.objects()).toHaveLength(2);
    world.clock.now += 15 * MINUTE_MS;
    expect((await pullAlone(world.tenant)).awaiting).toEqual(CRMS);
  });

  test('contacts wait for the past appointments that they depend on, and their objects wait for the contacts', async () => {
    const world = openCrmWorld(redis, { contacts: { mapping: { lastname: 'lastName', visits: 'derived.visits' } } });
    admit(world, '1');
    book(world, 'a', '1');
    const readPast = Promise.withResolvers<void>();
    const asked = { past: 0 };
    const read = world.clinic.readAppointments.bind(world.clinic);
    world.clinic.readAppointments = async (query, signal) => {
      if (query.window.fromAt < world.clock.now - 365 * DAY_MS) {
        asked.past += 1;
        await readPast.promise;
      }
      return read(query, signal);
    };
    const reading = readStreamsInTurn(world.tenant, BESIDE, NEVER);
    await waitFor(() => asked.past === 1, { what: 'the past being asked for' });
    const run = await pullAlone(world.tenant);
    expect([run.awaiting, plannedIn(run)]).toEqual([['contacts'], ['activities']]);
    expect(run.targets[0]).toMatchObject({ planned: {}, omitted: { 'contact-unwritten': 1 } });
    readPast.resolve();
    const planned = (await reading).run?.targets.map((target) => target.planned);
    expect(planned).toEqual([{ new: 1 }, { new: 1 }]);
  });

  test('no other process begins to read it', async () => {
    const world = open();
    const patients = holding(world.clinic, 'readPatients');
    const reading = readStreamsInTurn(world.tenant, BESIDE, NEVER);
    await waitFor(() => patients.asked === 1, { what: 'the list of patients being asked for' });
    expect(await readStreamsInTurn(world.again(), BESIDE, NEVER)).toEqual({ run: null, isElsewhere: false });
    patients.letGo();
    await reading;
    expect(patients.asked).toBe(1);
  });

  test('a CRM planned by an earlier process is in sync as of that time, and behind once that is long ago', async () => {
    const world = open();
    await cycle(world.tenant);
    const at = world.clock.now;
    const process = world.again();
    const statusAfter = async (ms: number) => {
      world.clock.now = at + ms;
      const run = await pullAlone(process);
      const { sync, reason, inSyncAsOf } = await targetStatus(process, targetOf(process, 'contacts'), [], run);
      return { sync, reason, inSyncAsOf };
    };
    expect(await statusAfter(5 * MINUTE_MS)).toEqual({ sync: 'in-sync', reason: null, inSyncAsOf: at });
    expect(await statusAfter(3 * HOUR_MS)).toEqual({ sync: 'unknown', reason: 'read-failed', inSyncAsOf: at });
  });
});

describe('a patient list with a slow fetch', () => {
  test('is used after the running cycle, although another process starts one cycle after another', async () => {
    const world = open();
    const busy = world.again();
    const appointments = holding(world.clinic, 'readAppointments');
    const underWay = pullTenant(busy, NEVER, { asked: true });
    await waitFor(() => appointments.asked === 1, { what: 'the appointments being asked for' });
    const reading = readStreamsInTurn(world.tenant, BESIDE, NEVER);
    await waitFor(() => world.tenant.memory.patients !== null, { what: 'the list of patients' });
    await waitFor(waitsForPlan, { what: 'its place in the line' });
    appointments.letGo();
    expect((await underWay)?.awaiting).toEqual(CRMS);
    expect(await pullTenant(busy, NEVER, { asked: true })).toBeNull();
    expect((await reading).run?.awaiting).toEqual([]);
    await waitFor(() => pullTenant(busy, NEVER, { asked: true }), { what: 'the next cycle' });
  });

  test('is used once even if the fetch takes longer than the list is valid', async () => {
    const world = open();
    for (const name of ['Verdi', 'Bianchi']) {
      const patients = holding(world.clinic, 'readPatients');
      rename(world, '1', name);
      const reading = readStreamsInTurn(world.tenant, BESIDE, NEVER);
      await waitFor(() => patients.asked > 0, { what: 'the list of patients being asked for' });
      const startedAt = world.clock.now;
      world.clock.now += 6 * HOUR_MS;
      patients.letGo();
      expect((await reading).run).toMatchObject({ awaiting: [], read: { patients: startedAt } });
      await write(world.tenant);
      expect(names(world)).toEqual([name]);
      expect((await pullAlone(world.tenant)).awaiting).toEqual(CRMS);
    }
  });
});

async function waitsForPlan(): Promise<boolean> {
  return (await redis.connect().exists('cm:{studio-rossi}:lease-waiting:plan')) === 1;
}

describe('a patient list that can’t be fetched', () => {
  test('leaves the CRM unchanged and is reported as missing, while calendars continue', async () => {
    const world = open();
    await cycle(world.tenant);
    world.clock.now += 15 * MINUTE_MS;
    world.clinic.patientsError = refused;
    rename(world, '1', 'Bianchi');
    book(world, 'b', '1');
    const run = await cycle(world.tenant);
    expect(run.withheld).toMatchObject([{ part: 'patients', code: 'server-error' }]);
    expect([plannedIn(run), run.awaiting]).toEqual([['doctor'], []]);
    expect([names(world), world.activities.objects().length]).toEqual([['Verdi 1'], 1]);
    expect(world.calendar.objects()).toHaveLength(2);
  });

  test('is fetched by the process that replaced the previous one', async () => {
    const world = open();
    await cycle(world.tenant);
    world.clinic.patientsError = refused;
    const process = world.again();
    expect(await areCrmsElsewhere(process)).toBe(true);
    await cycle(process);
    expect(await areCrmsElsewhere(process)).toBe(false);
  });

  test('is requested less and less often', async () => {
    const world = open();
    world.clinic.patientsError = refused;
    for (let minutes = 0; minutes < 240; minutes += 5) {
      await pull(world.tenant);
      world.clock.now += 5 * MINUTE_MS;
    }
    expect(world.clinic.counts.patients).toBeGreaterThan(10);
    expect(world.clinic.counts.patients).toBeLessThanOrEqual(240 / 15 + 4);
  });
});

describe('two processes', () => {
  test('that take turns read the patients once in an interval, and nothing goes back in time', async () => {
    const world = open();
    const processes = [world.tenant, world.again()];
    const seen: unknown[] = [];
    for (let turn = 0; turn < 48; turn += 1) {
      rename(world, '1', `Verdi ${String(turn).padStart(2, '0')}`);
      await cycle(processes[turn % 2] as OpenTenant);
      seen.push(...names(world));
      world.clock.now += 5 * MINUTE_MS;
    }
    expect(seen).toEqual([...seen].sort());
    expect(new Set(seen).size).toBeGreaterThan(8);
    expect(world.clinic.counts.patients).toBeLessThanOrEqual((48 * 5) / 15 + 1);
  });

  test('leave reading and planning to the one that planned CRMs last, until it is gone', async () => {
    const world = open();
    const other = world.again();
    await cycle(other);
    world.clock.now += MINUTE_MS;
    await cycle(world.tenant);
    expect(world.clinic.counts.patients).toBe(2);
    world.clock.now += 15 * MINUTE_MS;
    expect([await areCrmsElsewhere(other), await areCrmsElsewhere(world.tenant)]).toEqual([true, false]);
    expect(await readStreamsInTurn(other, BESIDE, NEVER)).toEqual({ run: null, isElsewhere: true });
    expect((await pullAlone(other)).awaiting).toEqual(CRMS);
    expect(world.clinic.counts.patients).toBe(2);
    expect((await readStreamsInTurn(other, INSTEAD, NEVER)).run?.awaiting).toEqual([]);
    expect(world.clinic.counts.patients).toBe(3);
    expect([await areCrmsElsewhere(other), await areCrmsElsewhere(world.tenant)]).toEqual([false, true]);
  });

  test('one of them a user’s command: the daemon fetches again data that the command fetched later', async () => {
    const world = open();
    await cycle(world.tenant);
    world.clock.now += MINUTE_MS;
    const command = world.again();
    command.memory.process = null;
    await pullAfresh(command, () => {}, NEVER);
    world.clock.now += MINUTE_MS;
    const run = await pullAlone(world.tenant);
    expect(run.awaiting).toEqual(CRMS);
    expect(await areStreamsDue(world.tenant, run)).toBe(true);
    expect((await readStreamsInTurn(world.tenant, BESIDE, NEVER)).run?.awaiting).toEqual([]);
  });

  test('one of them with a slow clock: its later fetch is treated as later', async () => {
    const world = open();
    await cycle(world.tenant);
    const behind = world.again({ clock: () => world.clock.now - 20_000 });
    behind.memory.process = null;
    rename(world, '1', 'Bianchi');
    expect((await pullAfresh(behind, () => {}, NEVER)).awaiting).toEqual([]);
    await write(behind);
    expect(names(world)).toEqual(['Bianchi']);
  });

  test('whose clock ran ahead once don’t wait for that time', async () => {
    const world = open();
    const at = world.clock.now;
    world.clock.now += 24 * HOUR_MS;
    await cycle(world.tenant);
    world.clock.now = at;
    for (const process of [world.tenant, world.again()]) {
      rename(world, '1', `Bianchi ${process.memory.process}`);
      await cycle(process);
      expect(names(world)).toEqual([`Bianchi ${process.memory.process}`]);
      world.clock.now += 15 * MINUTE_MS;
    }
  });
});

describe('a cycle requested by an administrator', () => {
  test('waits for a running cycle without a time limit, and reports the wait at once', async () => {
    const world = open();
    const appointments = holding(world.clinic, 'readAppointments');
    const daemon = world.again();
    const underWay = pullAlone(daemon);
    await waitFor(() => appointments.asked === 1, { what: 'the appointments being asked for' });
    const told: string[] = [];
    const asked = pullAfresh(world.tenant, (step) => told.push(render(step)), NEVER);
    await waitFor(() => told.length === 2, { what: 'word of what is waited for' });
    expect(told).toEqual(['reading patients', 'waiting for a cycle in progress']);
    appointments.letGo();
    expect((await underWay).error).toBeNull();
    expect(plannedIn(await asked)).toEqual([...CRMS, 'doctor']);
  });

  test('waits for a running fetch, and can cancel the wait', async () => {
    const world = open();
    const patients = holding(world.clinic, 'readPatients');
    const reading = readStreamsInTurn(world.again(), BESIDE, NEVER);
    await waitFor(() => patients.asked === 1, { what: 'the list of patients being asked for' });
    const told: string[] = [];
    const person = new AbortController();
    const asked = pullAfresh(world.tenant, (step) => told.push(render(step)), person.signal);
    await waitFor(() => told.length === 1, { what: 'word of what is waited for' });
    expect(told).toEqual(['waiting for a fetch of patients in progress']);
    person.abort(new Error('enough'));
    await expect(asked).rejects.toThrow('enough');
    patients.letGo();
    await reading;
  });
});
