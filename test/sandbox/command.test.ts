// Tier: full. It starts a process for each sandbox.
import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { createTransport } from 'nodemailer';
import { describe, expect, type TestContext, test } from 'vitest';
import { startSmsSandbox } from '../../sandbox/sms/index.ts';
import { startGuarded } from '../../tools/guarded-process.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const folders = readdirSync(`${root}sandbox`, { withFileTypes: true })
  .filter((entry) => entry.isDirectory() && entry.name !== 'kit')
  .map(({ name }) => name);

/** What `npm run sandbox` runs, without the name of Node. */
const SCRIPT: readonly string[] = JSON.parse(readFileSync(`${root}package.json`, 'utf8'))
  .scripts.sandbox.split(' ')
  .slice(1);

/** Options with which a sandbox starts on free ports, and soon. */
const SOON: Readonly<Record<string, readonly string[]>> = {
  clinic: ['--auth-port', '0', '--tenants', '1', '--appointments', '50'],
  mail: ['--http-port', '0'],
  salesforce: ['--person-accounts'],
};

/** Starts a sandbox by the command of its README, and reads what it printed. */
async function start({ onTestFinished }: TestContext, name: string) {
  const { process: running } = await startGuarded({
    server: { command: 'sh', args: ['-c', 'cd "$0" && exec "$@"', root, process.execPath], env: {} },
    args: [...SCRIPT, name, '--port', '0', ...(SOON[name] ?? [])],
    ready: /Ctrl-C ends it\./,
    readyTimeoutMs: 60_000,
  });
  onTestFinished(() => running.stop());
  const printed = running.recentOutput();
  const lines = printed.split('\n').filter((line) => line.startsWith('  curl '));
  return {
    /** A value of the table. */
    fact: (fact: string) => new RegExp(`^  ${fact} +(.*)$`, 'm').exec(printed)?.[1] ?? '',
    tryIt: () => send(lines.at(0) ?? ''),
    spoil: () => send(lines.at(-1) ?? ''),
    interrupt: () => {
      process.kill(running.pid, 'SIGINT');
      return running.ended;
    },
  };
}

/** Runs the command until it ends. */
function run(...args: string[]): Promise<{ code: number; output: string; errors: string }> {
  return new Promise((resolve) => {
    execFile(process.execPath, [...SCRIPT, ...args], { cwd: root }, (error, output, errors) =>
      resolve({ code: Number(error?.code ?? 0), output, errors }),
    );
  });
}

/** Does what a printed line of curl does. */
async function send(line: string): Promise<{ status: number; text: string }> {
  const words = [...line.matchAll(/(?:(-H|-d) )?'([^']*)'/g)].map(([, option = '', value = '']) => ({ option, value }));
  const ofOption = (wanted: string) => words.filter(({ option }) => option === wanted).map(({ value }) => value);
  const [url = ''] = ofOption('');
  const [body] = ofOption('-d');
  const headers = ofOption('-H').map((header) => header.split(': ') as [string, string]);
  const form = { 'content-type': 'application/x-www-form-urlencoded' };
  const response = await fetch(url, {
    headers: { ...(body === undefined ? {} : form), ...Object.fromEntries(headers) },
    ...(body === undefined ? {} : { method: 'POST', body }),
  });
  return { status: response.status, text: await response.text() };
}

function mailTo(server: string) {
  const [host = '', port = ''] = server.split(':');
  return createTransport({ host, port: Number(port), secure: false }).sendMail({
    from: 'desk@clinic.example',
    to: 'patient@home.example',
    subject: 'Hello',
    text: 'See you tomorrow.',
  });
}

async function itemsAt(url: string): Promise<unknown[]> {
  const { items } = (await (await fetch(url)).json()) as { items: unknown[] };
  return items;
}

describe.concurrent('npm run sandbox', () => {
  test.for(folders.filter((name) => name !== 'mail'))(
    'starts %s: what it prints works, a fault spoils it once, and Ctrl-C ends it',
    async (name, context) => {
      const { tryIt, spoil, interrupt } = await start(context, name);
      expect((await tryIt()).status).toBeLessThan(300);
      expect((await spoil()).status).toBe(201);
      expect((await tryIt()).status).toBe(503);
      expect((await tryIt()).status).toBeLessThan(300);
      expect(await interrupt()).toBe('exit code 0');
    },
  );

  test('starts a mail server that shows what it took', async (context) => {
    const { fact, tryIt, spoil, interrupt } = await start(context, 'mail');
    await mailTo(fact('smtp'));
    expect((await tryIt()).text).toContain('See you tomorrow.');
    expect((await spoil()).status).toBe(201);
    await expect(mailTo(fact('smtp'))).rejects.toMatchObject({ responseCode: 451 });
    await mailTo(fact('smtp'));
    expect(await itemsAt(fact('mails'))).toHaveLength(2);
    expect((await fetch(fact('mails'), { method: 'DELETE' })).status).toBe(204);
    expect(await itemsAt(`${fact('mails')}?to=patient@home.example`)).toEqual([]);
    expect(await (await fetch(fact('certificate'))).text()).toContain('BEGIN CERTIFICATE');
    expect(await interrupt()).toBe('exit code 0');
  });

  test('without arguments lists all sandboxes, and --help lists the options of one', async () => {
    const { code, output } = await run();
    expect(code).toBe(0);
    for (const name of folders) expect(output).toMatch(new RegExp(`^  ${name} +\\S`, 'm'));
    const help = await run('rest-crm', '--help');
    expect(help).toMatchObject({ code: 0 });
    expect(help.output).toMatch(/--dialect <value> +which CRM.*: espocrm, dolibarr, twenty, zoho \(espocrm\)/);
  });

  test('refuses what it does not know', async () => {
    const { code, output, errors } = await run('nobody');
    expect([code, output]).toEqual([2, '']);
    expect(errors).toContain('no sandbox "nobody"');
  });

  test('says that a port is taken', async ({ onTestFinished }) => {
    const other = await startSmsSandbox();
    onTestFinished(() => other.close());
    const { code, errors } = await run('sms', '--port', String(other.port));
    expect([code, errors.trim()]).toEqual([1, expect.stringContaining(`port ${other.port} is taken`)]);
  });
});
