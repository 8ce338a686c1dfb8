import { createInterface } from 'node:readline';
import { parseArgs } from 'node:util';
import { DIALECT_NAMES, type DialectName } from './dialects/index.ts';
import type { SimulatedWork } from './front-desk.ts';
import { startClinicSandbox } from './index.ts';

const { values } = parseArgs({
  options: {
    port: { type: 'string', default: '0' },
    'auth-port': { type: 'string', default: '0' },
    tenants: { type: 'string', default: '2' },
    appointments: { type: 'string', default: '1200' },
    agendas: { type: 'string' },
    patients: { type: 'string' },
    seed: { type: 'string', default: '1' },
    database: { type: 'string', default: ':memory:' },
    dialect: { type: 'string', default: 'documented' },
    'front-desk-every-ms': { type: 'string' },
  },
});

const patients = values.patients === undefined ? {} : { patients: wholeNumber('patients', values.patients) };
const sandbox = await startClinicSandbox({
  port: wholeNumber('port', values.port),
  authPort: wholeNumber('auth-port', values['auth-port']),
  tenants: Array.from({ length: wholeNumber('tenants', values.tenants) }, () => patients),
  appointments: wholeNumber('appointments', values.appointments),
  ...(values.agendas === undefined ? {} : { agendas: wholeNumber('agendas', values.agendas) }),
  seed: wholeNumber('seed', values.seed),
  databasePath: values.database,
  dialect: dialectOf(values.dialect),
});
const { baseUrl, authUrl, tenants, users, clients } = sandbox;
process.stdout.write(`${JSON.stringify({ baseUrl, authUrl, tenants, users, clients })}\n`);

const everyMs = values['front-desk-every-ms'];
if (everyMs !== undefined) sandbox.startFrontDesk({ everyMs: wholeNumber('front-desk-every-ms', everyMs) });
// Each line on standard input is work for the front desk, such as {"tenantId":"…","booked":2}; a line says what was done.
const orders = createInterface(process.stdin).on('line', (line) => {
  const { tenantId, ...work } = JSON.parse(line) as SimulatedWork & { tenantId: string };
  process.stdout.write(`${JSON.stringify(sandbox.simulate(tenantId, work))}\n`);
});
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, end);

function end(): void {
  // Else an open standard input keeps the process.
  orders.close();
  void sandbox.close();
}

function wholeNumber(name: string, text: string): number {
  if (/^\d+$/.test(text)) return Number(text);
  process.stderr.write(`--${name} must be a whole number\n`);
  process.exit(2);
}

function dialectOf(text: string): DialectName {
  const known = DIALECT_NAMES.find((name) => name === text);
  if (known !== undefined) return known;
  process.stderr.write(`--dialect must be one of ${DIALECT_NAMES.join(', ')}\n`);
  process.exit(2);
}
