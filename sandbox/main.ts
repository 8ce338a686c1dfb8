import {
  describeOptions,
  describeStart,
  readOptions,
  type SandboxCommand,
  type StartedSandbox,
  takeOrders,
  UsageError,
} from './kit/command.ts';

/** Every sandbox, by the name of its folder. Only the started sandbox is loaded. */
const SANDBOXES: Readonly<Record<string, { about: string; load(): Promise<{ command: SandboxCommand }> }>> = {
  caldav: {
    about: 'a CalDAV server with the ways of Cyrus, Xandikos, iCloud and small ones',
    load: () => import('./caldav/command.ts'),
  },
  clinic: {
    about: 'a clinic management system: REST API, authorization server, sample clinics, a front desk at work',
    load: () => import('./clinic/command.ts'),
  },
  google: {
    about: 'Google Calendar v3 with batches, change feed, push, and Google’s OAuth',
    load: () => import('./google/command.ts'),
  },
  graph: {
    about: 'Microsoft Graph calendars with batches, delta, subscriptions, and the sign-in of Entra',
    load: () => import('./graph/command.ts'),
  },
  hubspot: {
    about: 'the CRM of one HubSpot account, and its sign-in',
    load: () => import('./hubspot/command.ts'),
  },
  mail: {
    about: 'a mail server (SMTP) that keeps what it takes',
    load: () => import('./mail/command.ts'),
  },
  'rest-crm': {
    about: 'a small CRM that speaks as EspoCRM, Dolibarr, Twenty or Zoho CRM',
    load: () => import('./rest-crm/command.ts'),
  },
  salesforce: {
    about: 'the REST API of one Salesforce org, and its sign-in',
    load: () => import('./salesforce/command.ts'),
  },
  sms: {
    about: 'Twilio’s messages: messages to phones, status reports, replies',
    load: () => import('./sms/command.ts'),
  },
};

const USAGE = 'npm run sandbox -- <name> [--option value …]';

async function main([name, ...args]: readonly string[]): Promise<void> {
  const sandbox = name === undefined ? undefined : SANDBOXES[name];
  if (name === undefined || name === '--help') return print(overview());
  if (sandbox === undefined) throw new UsageError(`There is no sandbox "${name}".\n\n${overview()}`);
  const { command } = await sandbox.load();
  if (args.includes('--help')) return print(help(name, sandbox.about, command));
  const isForPrograms = args.includes('--json');
  const given = readOptions(
    command.options,
    args.filter((arg) => arg !== '--json'),
  );
  const started = await command.start(given);
  print(isForPrograms ? `${JSON.stringify({ ...started.facts, ...started.more })}\n` : describeStart(name, started));
  runUntilSignal(started);
}

function runUntilSignal({ order, close }: StartedSandbox): void {
  // An open standard input would keep the process.
  const stopOrders = order === undefined ? undefined : takeOrders(order);
  let isEnding = false;
  const end = (): void => {
    if (isEnding) return;
    isEnding = true;
    stopOrders?.();
    void close();
  };
  // `on` instead of `once`: Ctrl-C may arrive twice, from the terminal and from the parent process.
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, end);
}

function overview(): string {
  const names = Object.entries(SANDBOXES).map(([name, { about }]) => `  ${name.padEnd(10)}  ${about}\n`);
  return `Servers that speak vendors' real protocols on 127.0.0.1, with faults on demand.

  ${USAGE}
  npm run sandbox -- <name> --help

${names.join('')}`;
}

function help(name: string, about: string, { options }: SandboxCommand): string {
  return `${name}: ${about}

  npm run sandbox -- ${name} [--option value …]

${describeOptions({ ...options, json: { about: 'prints one line of JSON, for programs', default: false } })}

More: sandbox/${name}/README.md
`;
}

function print(text: string): void {
  process.stdout.write(text);
}

/** Returns the error message for the operator: the port in use, or the wrong option. */
function reasonOf(error: unknown): string | undefined {
  if (error instanceof UsageError) return error.message;
  const { code, port, message } = error as NodeJS.ErrnoException & { port?: number };
  if (code === 'ERR_SOCKET_BAD_PORT') return message;
  return code === 'EADDRINUSE' ? `port ${port} is taken: choose another one by --port, 0 takes a free one` : undefined;
}

await main(process.argv.slice(2)).catch((error: unknown) => {
  const reason = reasonOf(error);
  if (reason === undefined) throw error;
  process.stderr.write(`${reason.trimEnd()}\n`);
  process.exitCode = error instanceof UsageError ? 2 : 1;
});
