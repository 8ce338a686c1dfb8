import { type Given, type SandboxCommand, type StartedSandbox, UsageError } from '../kit/command.ts';
import { DIALECT_NAMES } from './dialects/index.ts';
import { firstToken } from './first-token.ts';
import type { SimulatedWork } from './front-desk.ts';
import { type ClinicSandbox, type ClinicSandboxOptions, startClinicSandbox } from './index.ts';

/** How `npm run sandbox -- clinic` starts it. */
export const command: SandboxCommand = {
  options: {
    port: { about: 'port of the API on 127.0.0.1; 0 takes a free one', default: 4600 },
    'auth-port': { about: 'port of the authorization server', default: 4601 },
    dialect: { about: 'how the API speaks', default: 'documented', choices: DIALECT_NAMES },
    tenants: { about: 'how many clinics', default: 2 },
    appointments: { about: 'appointments of each', default: 1200 },
    agendas: { about: 'agendas of each; 0: as many as its appointments need', default: 0 },
    patients: { about: 'patients of each; 0: as many as its appointments need', default: 0 },
    seed: { about: 'the same seed gives the same data on the same day', default: 1 },
    database: { about: 'a new file for the data', default: ':memory:' },
    'front-desk-every-ms': { about: 'the front desk works as often; 0: when it is ordered to', default: 0 },
  },
  start: async (given) => {
    const sandbox = await startClinicSandbox(optionsOf(given));
    try {
      return await describe(sandbox, given);
    } catch (error) {
      await sandbox.close();
      throw error;
    }
  },
};

function optionsOf(given: Given): ClinicSandboxOptions {
  const [agendas, patients] = [given.number('agendas'), given.number('patients')];
  const plan = patients === 0 ? {} : { patients };
  const tenants = given.number('tenants');
  if (tenants === 0) throw new UsageError('--tenants must be at least 1');
  return {
    port: given.number('port'),
    authPort: given.number('auth-port'),
    tenants: Array.from({ length: tenants }, () => plan),
    appointments: given.number('appointments'),
    ...(agendas === 0 ? {} : { agendas }),
    seed: given.number('seed'),
    databasePath: given.text('database'),
    dialect: given.choice('dialect', DIALECT_NAMES),
  };
}

async function describe(sandbox: ClinicSandbox, given: Given): Promise<StartedSandbox> {
  const { baseUrl, authUrl, tenants, users, clients } = sandbox;
  const accessToken = await firstToken(sandbox);
  // The requests of this sign-in do not belong to a client's traffic.
  sandbox.counts.reset();
  const everyMs = given.number('front-desk-every-ms');
  if (everyMs > 0) sandbox.startFrontDesk({ everyMs });
  const [tenant] = tenants;
  const [client] = clients;
  return {
    facts: {
      baseUrl,
      authUrl,
      clientId: client?.clientId ?? '',
      clientSecret: client?.clientSecret ?? '',
      tenantId: tenant?.id ?? '',
      username: tenant?.user.username ?? '',
      password: tenant?.user.password ?? '',
      accessToken,
    },
    more: { tenants, users, clients },
    example: {
      url: `${baseUrl}/v2/tenants/${tenant?.id}/agendas`,
      headers: { accept: 'application/json', authorization: `Bearer ${accessToken}` },
    },
    adminUrl: baseUrl,
    // Such as {"tenantId":"…","booked":2}.
    order: (line) => {
      const { tenantId, ...work } = JSON.parse(line) as SimulatedWork & { tenantId: string };
      return sandbox.simulate(tenantId, work);
    },
    close: sandbox.close,
  };
}
