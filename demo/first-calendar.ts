import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { type ClinicSandbox, startClinicSandbox } from '../sandbox/clinic/index.ts';
import { type GoogleSandbox, startGoogleSandbox } from '../sandbox/google/index.ts';
import { startRedis } from '../tools/redis.ts';
import { startDeskPage } from './desk-page.ts';

/** The file that is written for `clinic-mirror init --answers`. */
const ANSWERS = 'sandbox-answers.yaml';
const ACCOUNT = 'doctor@clinic.example';

/** Starts the servers for docs/quickstart.md on this host, prints the next steps, and ends the servers at Ctrl-C. */
async function main(): Promise<void> {
  // Before anything starts: until then a signal would end this process and leave the file.
  const ended = new Promise<void>((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => resolve());
  });
  const redis = await startRedis();
  const clinic = await startClinicSandbox({
    tenants: [{ name: 'Poliambulatorio Aurora' }],
    ...{ appointments: 60, agendas: 2, pastDays: 10, futureDays: 60 },
  });
  const google = await startGoogleSandbox({ timeZone: 'Europe/Rome' });
  google.addAccount(ACCOUNT);
  const page = await startDeskPage({ clinic, google, account: ACCOUNT });
  const file = join(process.cwd(), ANSWERS);
  try {
    await writeFile(file, answers(clinic, google, redis.url));
    process.stdout.write(whatToDo(clinic, page.url));
    await ended;
  } finally {
    await rm(file, { force: true });
    await Promise.all([page, clinic, google].map((server) => server.close()));
    await redis.stop();
  }
}

/** Answers for the clinic and the account that run here, as docs/quickstart.md explains them. */
function answers(
  { baseUrl, authUrl, clients }: ClinicSandbox,
  { issuer, client, ...google }: GoogleSandbox,
  redisUrl: string,
) {
  const [registration] = clients;
  return stringify({
    redisUrl,
    clinic: { baseUrl, authUrl, clientId: registration?.clientId, clientSecret: registration?.clientSecret },
    calendarKinds: ['google'],
    google: { issuer, clientId: client.clientId, clientSecret: client.clientSecret },
    calendarNetwork: '127.0.0.0/8',
    ...{ name: 'Poliambulatorio Aurora', tenant: 'aurora', language: 'it', zone: 'Europe/Rome' },
    firstRun: 'apply',
    calendars: [
      {
        ...{ id: 'dr-bianchi', agendas: 'all', kind: 'google', calendar: 'Appointments of Dr Bianchi' },
        ...{ title: 'appointment', account: ACCOUNT, rootUrl: google.calendarApiUrl },
      },
    ],
  });
}

function whatToDo({ tenants }: ClinicSandbox, pageUrl: string): string {
  const { username = '', password = '' } = tenants[0]?.user ?? {};
  return `Redis, a clinic with two agendas and a Google account run on this host. All people are fictional.

The front desk of the clinic, and the calendar of the account:
  ${pageUrl}

In another terminal, in this folder:
  npx clinic-mirror init my-clinic --answers ${ANSWERS}
  npx clinic-mirror --config my-clinic sync aurora
  npx clinic-mirror --config my-clinic run

init shows two URLs, one after the other. Open each in your browser:
  the clinic  log in as ${username} with the password ${password}, and allow
  Google      take the account ${ACCOUNT}, and continue

Ctrl-C ends the servers here, and deletes their data. Before a new start: rm -r my-clinic
`;
}

await main();
