import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { parse } from 'yaml';
import { type ClinicSandbox, startClinicSandbox } from '../../sandbox/clinic/index.ts';
import { compareSpecification } from '../../src/profile-finder/compare.ts';
import { propose } from '../../src/profile-finder/findings.ts';
import { readSpecification } from '../../src/profile-finder/openapi.ts';
import { committedProfile, openClient, profileOf, unhurried, type WrittenProfile } from '../clinic/open-client.ts';
import { firstTenant, frontDeskToken, NOW } from '../sandbox/clinic/support.ts';

const DAY_MS = 86_400_000;
const WINDOW = { fromAt: NOW - 20 * DAY_MS, toAt: NOW + 50 * DAY_MS };

let sandbox: ClinicSandbox;
let token: string;
beforeAll(async () => {
  sandbox = await startClinicSandbox({ tenants: 1, appointments: 400, now: NOW, dialect: 'pages' });
  token = await frontDeskToken(sandbox);
});
afterAll(() => sandbox.close());

const document = readFileSync(new URL('../fixtures/openapi-pages.yaml', import.meta.url), 'utf8');

function proposed() {
  const base = profileOf();
  const compared = compareSpecification(readSpecification(document), base);
  return { ...compared, ...propose(base, compared.changes) };
}

async function readWith(written: WrittenProfile) {
  const header = async () => `Bearer ${token}`;
  const { client } = openClient(sandbox.baseUrl, profileOf(written), { authorization: { header, renew: header } });
  const query = { agendaIds: null, window: WINDOW };
  return client.readAppointments(firstTenant(sandbox).id, query, unhurried());
}

test('the document of a clinic with numbered pages gives a profile that reads it, unedited', async () => {
  const { yaml, omitted, findings } = proposed();
  expect(omitted).toEqual([]);
  expect(
    findings.filter(({ location: place, result: verdict }) => verdict === 'fits' && place.includes('appointments'))
      .length,
  ).toBeGreaterThan(2);
  const snapshot = await readWith(parse(yaml) as WrittenProfile);
  expect(snapshot).toMatchObject({ completeness: 'complete', unusable: [] });
  const truth = [...sandbox.appointments(firstTenant(sandbox).id)].filter(
    ({ start, end, deleted }) => !deleted && start < WINDOW.toAt && end > WINDOW.fromAt,
  );
  expect(truth.length).toBeGreaterThan(100);
  expect([...snapshot.records.keys()].sort()).toEqual(truth.map(({ id }) => id).sort());
  for (const { id, agendaId, start, status } of truth) {
    const record = snapshot.records.get(id);
    expect([record?.agendaId, record?.time.startAt]).toEqual([agendaId, start]);
    expect(record?.status).toBe(
      {
        Booked: 'booked',
        Confirmed: 'confirmed',
        CheckedIn: 'arrived',
        InProgress: 'in_progress',
        Completed: 'completed',
        Cancelled: 'cancelled',
        NoShow: 'no_show',
      }[status],
    );
  }
});

test('the profile that ships for such a clinic reads the same, but for the end of whole days, which no document tells', async () => {
  const { yaml } = proposed();
  const mine = await readWith({ ...(parse(yaml) as WrittenProfile) });
  const header = async () => `Bearer ${token}`;
  const authorization = { header, renew: header };
  const { client } = openClient(sandbox.baseUrl, committedProfile('pages'), { authorization });
  const shipped = await client.readAppointments(
    firstTenant(sandbox).id,
    { agendaIds: null, window: WINDOW },
    unhurried(),
  );
  const timed = (snapshot: typeof mine) =>
    [...snapshot.records.values()].filter(({ time }) => time.kind === 'timed').sort((a, b) => a.id.localeCompare(b.id));
  expect(timed(mine)).toEqual(timed(shipped));
});
