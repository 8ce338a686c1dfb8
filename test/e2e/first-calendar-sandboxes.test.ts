import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { mkdtemp, readdir, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { authorizeInBrowser as authorizeInClinic } from '../../sandbox/clinic/index.ts';
import { authorizeInBrowser as authorizeAtGoogle } from '../../sandbox/kit/oauth/browser.ts';
import { waitFor } from '../support/wait-for.ts';
import { widenBudget } from './support/widen-budget.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const DOCUMENT = readFileSync(join(ROOT, 'docs/quickstart.md'), 'utf8');
const SECTION = /## With the sandboxes\n([\s\S]*?)\n## /.exec(DOCUMENT)?.[1] ?? '';
/** `config check --live` and `run` compare the clocks. */
const REDIS_DATE = new URL('../support/redis-date-preload.ts', import.meta.url);

/** Every command of the section, in its order. */
const commands = [...SECTION.matchAll(/```sh\n([\s\S]*?)```/g)].flatMap(([, block = '']) => block.trim().split('\n'));

/** What a command wrote while it runs. */
interface Typed {
  child: ChildProcess;
  said: string;
  ended: Promise<number | null>;
}

let clone = '';
const running: Typed[] = [];
beforeAll(async () => {
  // A clone as the commands need it: their output stays in this folder.
  clone = await mkdtemp(join(tmpdir(), 'clinic-mirror-clone-'));
  for (const name of await readdir(ROOT)) {
    if (!['.git', 'my-clinic', 'sandbox-answers.yaml'].includes(name))
      await symlink(join(ROOT, name), join(clone, name));
  }
});
afterAll(async () => {
  for (const typed of running.toReversed()) await end(typed);
  await rm(clone, { recursive: true, force: true });
});

/** Types a command in a shell of the clone. */
function type(command: string, onOutput: (said: string) => void = () => {}): Typed {
  const NODE_OPTIONS = `${process.env.NODE_OPTIONS ?? ''} --import=${REDIS_DATE.href}`;
  const child = spawn('sh', ['-c', command], {
    ...{ cwd: clone, detached: true, env: { ...process.env, NODE_OPTIONS }, stdio: ['ignore', 'pipe', 'pipe'] },
  });
  const typed: Typed = { child, said: '', ended: once(child, 'close').then(() => child.exitCode) };
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on('data', (chunk: Buffer) => {
      typed.said += chunk.toString();
      onOutput(typed.said);
    });
  }
  running.push(typed);
  return typed;
}

/** Ctrl-C: the signal goes to everything that the shell of a terminal started. */
async function end({ child, ended }: Typed): Promise<void> {
  if (child.exitCode === null && child.signalCode === null && child.pid !== undefined)
    process.kill(-child.pid, 'SIGINT');
  await ended;
}

async function typeToItsEnd(command: string, onOutput?: (said: string) => void): Promise<string> {
  const typed = type(command, onOutput);
  expect(await typed.ended, `${command}\n${typed.said}`).toBe(0);
  return typed.said;
}

/** Opens each URL that `init` shows once, as its document says. */
function person(): (said: string) => void {
  const opened = new Set<string>();
  return (said) => {
    for (const [, url = ''] of said.matchAll(/^(http:\S+(?:authorize|\/auth)\?\S+)\r?\n/gm)) {
      if (opened.has(url)) continue;
      opened.add(url);
      const isGoogle = said.slice(0, said.indexOf(url)).lastIndexOf('Connection to Google') > 0;
      const login = isGoogle
        ? authorizeAtGoogle(url, { account: documented('continue as') })
        : authorizeInClinic(url, { username: documented('user'), password: documented('password') });
      login.then(async (back) => (await fetch(back)).text()).catch(() => {});
    }
  };
}

/** Returns the documented input: the code after these words. */
function documented(words: string): string {
  return new RegExp(`${words}\\s+\`([^\`]+)\``).exec(SECTION)?.[1] ?? '';
}

test('the sandbox journey of the document, command by command', async () => {
  const [install, start, init, plan, sync, run, again, status, ...more] = commands;
  expect(more).toEqual([]);
  // The tests themselves run after it.
  expect(install).toBe('npm ci');

  const servers = type(start!);
  const desk = await waitFor(() => /^ {2}(http:\S+)$/m.exec(servers.said)?.[1], { what: 'the servers to run' });
  const shown = async () => {
    const html = await (await fetch(desk)).text();
    const count = Number(/Appointments of Dr Bianchi: (\d+) event/.exec(html)?.[1] ?? 0);
    return { count, rows: html.match(/<tr><td>.*/g) ?? [] };
  };
  const press = async (label: string) => {
    const html = await (await fetch(desk)).text();
    const act = new RegExp(`name="act" value="(\\w+)">${label}`).exec(html)?.[1] ?? '';
    const answer = await fetch(desk, { method: 'POST', body: new URLSearchParams({ act }) });
    expect(await answer.text()).toMatch(/Done last: The appointment \w+ was/);
  };
  // Every command that the servers name is one of the document.
  for (const [, named = ''] of servers.said.matchAll(/^ {2}(npx .*)$/gm)) expect(commands).toContain(named);

  await typeToItsEnd(init!, person());
  // Other tests may have the default port.
  await widenBudget(join(clone, 'my-clinic'), { operator: { port: 0 } });
  expect(await typeToItsEnd(plan!)).toMatch(/dr-bianchi/);
  expect(await shown()).toMatchObject({ count: 0 });
  await typeToItsEnd(sync!);
  const first = await shown();
  expect(first.count).toBeGreaterThan(20);

  const daemon = type(run!);
  await waitFor(() => daemon.said.includes('daemon started'), { what: 'the daemon to run' });
  for (const [label, count] of [
    ['Book', first.count + 1],
    ['Move', first.count + 1],
    ['Cancel', first.count],
  ] as const) {
    const before = await shown();
    await press(label);
    await typeToItsEnd(again!);
    const after = await waitFor(
      async () => {
        const now = await shown();
        return now.rows.join() !== before.rows.join() && now;
      },
      { what: `the calendar to show ${label}` },
    );
    expect(after.count, label).toBe(count);
  }
  expect(await typeToItsEnd(status!)).toMatch(/dr-bianchi[\s\S]*in sync/);

  await end(daemon);
  await end(servers);
  expect(existsSync(join(clone, 'sandbox-answers.yaml'))).toBe(false);
  await expect(fetch(desk)).rejects.toThrow();
});
