import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';
import { auditTarget } from '../../src/engine/audit-target.ts';
import type { PrivateDavServer } from '../../tools/dav-server.ts';
import { startRadicale } from '../../tools/radicale.ts';
import type { ServerCommand } from '../../tools/server-command.ts';
import { resolveVdirsyncer } from '../../tools/vdirsyncer.ts';
import { AGENDA_HOLDS, type CycleWorld, openCycleWorld } from '../cycle/world.ts';
import { atMost, cpuSecondsOf, type Figure, leastOf, secondsOf } from '../figure.ts';
import { requestsOf, type Sent } from '../sent.ts';
import { startVendor } from './vendor-process.ts';

const GOALS = { quiet: 0.2, uploadCpu: 0.6, upload: 1 };
const TIMES = 3;
const WARM_UP_EVENTS = 200;
const USER = { name: 'clinic', password: 'bench-password' };
const run = promisify(execFile);

/** Costs of one program: the upload of events into an empty calendar, and a repeated check. */
interface Taken {
  uploadSeconds: number;
  uploadCpuSeconds: number;
  quietSeconds: number;
}

/**
 * Uploads equal events to Radicale with clinic-mirror and with vdirsyncer, which synchronises a folder of files with a calendar.
 * clinic-mirror reads the events from the clinic. Its quiet round is a cycle and an audit, because vdirsyncer reads both sides too. Each
 * program runs as usual: clinic-mirror as a running daemon, vdirsyncer as a new process each time.
 */
export async function measurePeer({ events }: { events: number }, say: (text: string) => void): Promise<Figure[]> {
  const vdirsyncer = await resolveVdirsyncer(say);
  say(`peer: ${events} events into Radicale …`);
  const { sent, ...ours } = await oursOf(events);
  const objects = sent.filter(({ method, url }) => method === 'PUT' && url.endsWith('.ics'));
  say(`peer: the same ${objects.length} by vdirsyncer …`);
  const theirs = await theirsOf(vdirsyncer, objects);
  const against = (name: string, goal: number, part: keyof Taken, unit: string): Figure => ({
    ...{ name: `peer ${name}`, ...atMost(goal, ours[part] / theirs[part]) },
    ...{ floor: theirs[part], ours: ours[part], unit, n: objects.length },
  });
  return [
    against('quiet', GOALS.quiet, 'quietSeconds', 's'),
    against('upload CPU', GOALS.uploadCpu, 'uploadCpuSeconds', 'CPU s'),
    against('upload', GOALS.upload, 'uploadSeconds', 's'),
  ];
}

/** Runs the code of an upload once, as in a daemon that has run for a while: otherwise the compiler of V8 would be measured. */
export async function warmUp(name: 'caldav' | 'google-calendar'): Promise<void> {
  await using vendor = await startVendor(name);
  await using world = await openCycleWorld({ appointments: WARM_UP_EVENTS, targets: 1 }, vendor.target);
  await world.sync();
}

async function oursOf(events: number): Promise<Taken & { sent: Sent[] }> {
  await warmUp('caldav');
  await using vendor = await startVendor('caldav');
  const targets = Math.ceil(events / AGENDA_HOLDS);
  await using world = await openCycleWorld({ appointments: events, targets }, vendor.target);
  const taken = { uploadSeconds: 0, uploadCpuSeconds: 0 };
  const sent = await requestsOf(async () => {
    taken.uploadCpuSeconds = await cpuSecondsOf(async () => {
      taken.uploadSeconds = await secondsOf(() => world.sync());
    });
  });
  await quietRound(world);
  return { ...taken, sent, quietSeconds: await leastOf(TIMES, () => secondsOf(() => quietRound(world))) };
}

/** A cycle and an audit: reads the clinic and every target. */
export async function quietRound(world: CycleWorld): Promise<void> {
  await world.pull();
  for (const target of world.tenant.targets.values()) await auditTarget(world.tenant, target, NEVER);
}

const NEVER = new AbortController().signal;

async function theirsOf(vdirsyncer: ServerCommand, objects: readonly Sent[]): Promise<Taken> {
  await using stack = new AsyncDisposableStack();
  const dir = await mkdtemp(join(tmpdir(), 'clinic-mirror-bench-'));
  stack.defer(() => rm(dir, { recursive: true, force: true }));
  const radicale = await startRadicale({ users: [USER] });
  if ('unavailable' in radicale) throw new Error(radicale.unavailable);
  stack.defer(() => radicale.stop());
  await writeWorld(dir, radicale, objects);
  const start = (...args: string[]) => cpuSecondsOfChild(vdirsyncer, ['-c', join(dir, 'config'), ...args]);
  await start('discover');
  let uploadCpuSeconds = 0;
  const uploadSeconds = await secondsOf(async () => {
    uploadCpuSeconds = await start('sync');
  });
  return { uploadSeconds, uploadCpuSeconds, quietSeconds: await leastOf(TIMES, () => secondsOf(() => start('sync'))) };
}

/** Writes a folder of events, an empty calendar, and the configuration for both (vdirsyncer.pimutils.org/en/stable/config.html). */
async function writeWorld(dir: string, { url }: PrivateDavServer, objects: readonly Sent[]): Promise<void> {
  const calendar = `${url}/${USER.name}/bench/`;
  const authorization = `Basic ${Buffer.from(`${USER.name}:${USER.password}`).toString('base64')}`;
  const made = await fetch(calendar, { method: 'MKCALENDAR', headers: { authorization } });
  if (!made.ok) throw new Error(`no calendar: ${made.status}`);
  await mkdir(join(dir, 'events'));
  for (const object of objects) await writeFile(join(dir, 'events', basename(object.url)), object.body ?? '');
  const quoted = (values: Record<string, unknown>) =>
    Object.entries(values).map(([name, value]) => `${name} = ${JSON.stringify(value)}`);
  const login = { username: USER.name, password: USER.password };
  const lines = [
    ...['[general]', ...quoted({ status_path: join(dir, 'status') })],
    ...['[pair bench]', ...quoted({ a: 'here', b: 'there', collections: null })],
    ...['[storage here]', ...quoted({ type: 'filesystem', path: join(dir, 'events'), fileext: '.ics' })],
    ...['[storage there]', ...quoted({ type: 'caldav', url: calendar, item_types: ['VEVENT'], ...login })],
  ];
  await writeFile(join(dir, 'config'), `${lines.join('\n')}\n`);
}

/** Runs a program to its end and returns its CPU cost: the second line of the shell's `times` is the cost of its children. */
async function cpuSecondsOfChild({ command, args, env }: ServerCommand, more: readonly string[]): Promise<number> {
  const script = '"$@" >&2 && times';
  const options = { env: { ...process.env, ...env }, maxBuffer: 64 * 1024 * 1024 };
  const { stdout } = await run('sh', ['-c', script, 'sh', command, ...args, ...more], options);
  const [, children = ''] = stdout.trim().split('\n');
  const times = [...children.matchAll(/(\d+)m([\d.]+)s/g)];
  return times.reduce((sum, [, minutes, seconds]) => sum + 60 * Number(minutes) + Number(seconds), 0);
}
