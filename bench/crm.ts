import { parseArgs } from 'node:util';
import { renderTable } from '../src/cli/table.ts';
import { type CrmComparison, compareCrm } from '../test/e2e/support/crm-truth.ts';
import { type CrmVendor, VENDORS, type VendorName } from '../test/e2e/support/crm-vendors.ts';
import { type CrmWorld, startCrmWorld } from '../test/e2e/support/crm-world.ts';
import { startRedis } from '../tools/redis.ts';
import { only, secondsSince } from './appointments.ts';

const USAGE = `npm run crm -- [--patients 10000] [--json]

Brings a clinic's patients into an empty CRM, one after the other of HubSpot, Salesforce and a CRM that is described in the
configuration, and counts what each CRM's sandbox saw: the first sync, a cycle without changes, then changed patients, withdrawn
consents and deleted patients. After each step the contacts are compared with the clinic's own books, computed again. Figures go to
standard output, progress to standard error; the exit code is 0 when all contacts are right, the first sync took no more
requests than it may, and the cycle without changes took none. The sandboxes run in the same process and answer at once.`;

/** Rows of one request (developers.hubspot.com, CRM batch endpoints; Salesforce, sObject Collections; zoho.com, upsert records). */
const ROWS: Readonly<Record<VendorName, number>> = { hubspot: 100, salesforce: 200, 'rest-crm': 100 };
/** Requests of a first sync that don't grow with it: account, properties, an empty list. */
const CONSTANT_REQUESTS = 20;

/** One step, as the CRM's sandbox saw it. */
interface Step {
  step: string;
  /** Patients that it was about. */
  patients: number;
  requests: { prepare: number; read: number; write: number; total: number };
  contacts: number;
  /** Contacts that the clinic's books ask for and that are not there, and the other way round. */
  missing: number;
  surplus: number;
  seconds: number;
  ok: boolean;
}

/** All steps in one CRM. */
interface Trial {
  crm: VendorName;
  /** Most requests of the first sync. */
  allowedRequests: number;
  steps: Step[];
  seconds: number;
  ok: boolean;
}

const { values } = parseArgs({
  options: {
    patients: { type: 'string', default: '10000' },
    json: { type: 'boolean', default: false },
    help: { type: 'boolean', short: 'h', default: false },
  },
});

async function main(): Promise<number> {
  const patients = Number(values.patients);
  if (values.help || !Number.isInteger(patients) || patients < 200) {
    process.stderr.write(`${USAGE}\nAt least 200 patients.\n`);
    return values.help ? 0 : 2;
  }
  const trials: Trial[] = [];
  for (const crm of VENDORS) trials.push(await runTrial(crm, patients));
  const result = { patients, trials, ok: trials.every(({ ok }) => ok) };
  process.stdout.write(`${values.json ? JSON.stringify(result) : render(result)}\n`);
  return result.ok ? 0 : 1;
}

async function runTrial(crm: VendorName, patients: number): Promise<Trial> {
  await using open = new AsyncDisposableStack();
  const startedAt = performance.now();
  const redis = await startRedis();
  open.defer(() => redis.stop());
  const appointments = Math.ceil(patients / 5);
  const world = await startCrmWorld({
    redisUrl: redis.url,
    vendors: [crm],
    patients,
    appointments,
    clinic: { agendas: Math.max(4, Math.ceil(appointments / 600)) },
    settings: { leases: { ttlMs: 30_000 } },
  });
  open.defer(() => world.close());
  await world.logIn();
  const vendor = only(world.vendors);
  const steps: Step[] = [];
  for (const [step, change] of changesOf(world)) {
    process.stderr.write(`${crm}: ${step} …\n`);
    const about = change();
    steps.push(await runStep(world, vendor, step, about));
  }
  const allowedRequests = Math.ceil(patients / ROWS[crm]) + CONSTANT_REQUESTS;
  for (const each of steps) each.ok = isAsPromised(each, patients, allowedRequests);
  const isCounted = vendor.counted() === steps.reduce((sum, { requests }) => sum + requests.total, 0);
  const ok = isCounted && steps.every((each) => each.ok);
  return { crm, allowedRequests, steps, seconds: secondsSince(startedAt), ok };
}

const CHANGED = 100;
const WITHDRAWN = 20;
const DELETED = 10;
const FIRST = 'first sync';
const QUIET = 'no change';

/** Every step by its name, and what it does in the clinic; it tells how many patients it is about. */
function changesOf({ clinic, tenants }: CrmWorld): [string, () => number][] {
  const { clinicId } = only(tenants);
  const ids = [...clinic.patients(clinicId)].map(({ id }) => id);
  const some = (from: number, count: number, change: (id: string, index: number) => void) => () => {
    // From all over the list, each patient in one step alone.
    const stride = Math.floor(ids.length / (CHANGED + WITHDRAWN + DELETED));
    for (let index = 0; index < count; index += 1) change(ids[(from + index) * stride] ?? '', index);
    return count;
  };
  const plant = (id: string, members: object) => clinic.plant(clinicId, 'patients', id, { ...members });
  return [
    [FIRST, () => ids.length],
    [QUIET, () => 0],
    [
      'changed',
      some(0, CHANGED, (id, index) => {
        plant(id, { lastName: `Cambiato ${index}`, email: `cambiato.${index}@example.com` });
      }),
    ],
    [
      'withdrawn',
      some(CHANGED, WITHDRAWN, (id) => plant(id, { consents: { privacy: { granted: false, date: null } } })),
    ],
    ['deleted', some(CHANGED + WITHDRAWN, DELETED, (id) => clinic.removePatient(clinicId, id))],
  ];
}

async function runStep(world: CrmWorld, vendor: CrmVendor, step: string, patients: number): Promise<Step> {
  const startedAt = performance.now();
  const { run, targets } = await world.cycle();
  const seconds = secondsSince(startedAt);
  const target = only(targets);
  if (run.error !== null || target.state !== 'in-sync') {
    process.stderr.write(`${vendor.name}: ${target.state}, ${run.error?.code ?? target.trouble?.code ?? 'no error'}\n`);
  }
  const { prepare, read, write } = world.spent(vendor);
  const { found, missing, surplus }: CrmComparison = compareCrm(world, vendor, 'patients', run.startedAt);
  const requests = { prepare, read, write, total: prepare + read + write };
  const figures = { contacts: found, missing: missing.length, surplus: surplus.length };
  return { step, patients, requests, ...figures, seconds, ok: false };
}

function isAsPromised(
  { step, requests, contacts, missing, surplus }: Step,
  patients: number,
  allowedRequests: number,
): boolean {
  if (missing > 0 || surplus > 0) return false;
  if (step === FIRST) return contacts === patients && requests.total <= allowedRequests;
  return step !== QUIET || requests.total === 0;
}

function render({ patients, trials, ok }: { patients: number; trials: readonly Trial[]; ok: boolean }): string {
  const headings = ['patients', 'prepare', 'read', 'write', 'HTTP', 'contacts', 'missing', 'surplus', 'seconds'];
  const columns = [{ heading: 'CRM' }, { heading: 'step' }, ...headings.map((heading) => ({ heading, right: true }))];
  const rows = trials.flatMap(({ crm, steps }) =>
    steps.map((each) => [
      crm,
      `${each.step}${each.ok ? '' : ' !'}`,
      ...[each.patients, each.requests.prepare, each.requests.read, each.requests.write].map(String),
      ...[each.requests.total, each.contacts, each.missing, each.surplus, each.seconds].map(String),
    ]),
  );
  const allowed = trials.map(({ crm, allowedRequests }) => `${crm} ${allowedRequests}`).join(', ');
  const inAll = trials.map(({ crm, seconds }) => `${crm} ${seconds}`).join(', ');
  return [
    renderTable(columns, rows),
    '',
    `${patients} patients in one clinic. HTTP of the first sync: at most ${allowed}.`,
    `Seconds in all, with building the clinic: ${inAll}.`,
    ok ? 'All as it should be.' : 'NOT as it should be.',
  ].join('\n');
}

process.exitCode = await main();
