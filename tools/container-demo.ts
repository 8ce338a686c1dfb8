// Runs an image of clinic-mirror against sandboxes on this host and prints the result:
//   node tools/container-demo.ts IMAGE
// Requires a `docker` in PATH whose containers can use this host's network. Exit code 1: an appointment was lost or duplicated.
import { chmod, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { parse, stringify } from 'yaml';
import { compare } from '../demo/compare.ts';
import { type DemoLogin, startWorld, type World } from '../demo/world.ts';
import { approveDevice, authorizeInBrowser as authorizeInClinic } from '../sandbox/clinic/index.ts';
import type { ProxyFault } from '../sandbox/kit/fault-proxy.ts';
import { tenantSecretFile, tenantVariable } from '../src/settings/tenant-secrets.ts';
import { docker, dockerOrThrow, inspectContainer, inspectImage, stopContainer } from './container-engine.ts';
import { freePort } from './free-port.ts';
import { openLoginLink } from './login-link.ts';

/** The world, and how containers are run in it. */
interface Stage {
  world: World;
  image: string;
  /** Name of the daemon's container. */
  daemon: string;
  /** Of `docker run`. */
  runOptions: string[];
  port: number;
}

const WAIT_TIMEOUT_MS = 120_000;
/** Default time of a container engine between SIGTERM and SIGKILL. */
const ENGINE_PATIENCE_MS = 10_000;
const CHANGES = { booked: 120, moved: 120, cancelled: 30 };
const WRITE_METHODS = new Set(['POST', 'PUT', 'PATCH', 'DELETE']);

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}

async function main(image: string): Promise<boolean> {
  const { bytes, user, command } = await inspectImage(image);
  say(`image: ${bytes} bytes, user ${user}, command ${JSON.stringify(command)}`);
  const world = await startWorld({
    appointmentsPerTenant: 1_200,
    agendasPerTenant: 3,
    patientsPerTenant: 300,
    pullEverySeconds: 10,
    leaseTtlMs: 10_000,
    notice: say,
  });
  const stage = await setStage(world, image);
  try {
    return await play(stage);
  } finally {
    const { out, err } = await docker(['logs', '--tail', '5', stage.daemon]);
    say(`last lines of the daemon:\n${out}${err}`);
    await docker(['rm', '--force', stage.daemon]);
    await world.close();
  }
}

async function play(stage: Stage): Promise<boolean> {
  const { world, daemon } = stage;
  for (const login of world.logins) await logIn(stage, login);
  say(`connections made through the image's command line: ${world.logins.length}`);
  const [first, second] = [...world.clinicTenants.keys()];
  await syncAlone(stage, first ?? '');

  await dockerOrThrow('run', '--detach', '--name', daemon, ...stage.runOptions, stage.image);
  const startedAt = performance.now();
  await waitFor('a healthy daemon', async () => (await inspectContainer(daemon)).health === 'healthy');
  say(`docker says healthy after ${Math.round(performance.now() - startedAt)} ms`);
  say(`listens on ${await listeningAddress(stage)}`);
  const touch = await docker(['exec', daemon, 'touch', '/app/mark']);
  say(`inside: user id ${await dockerOrThrow('exec', daemon, 'id', '-u')}; ${touch.err.trim()}`);
  const { code, out } = await docker(['exec', daemon, 'clinic-mirror', 'sync', second ?? '']);
  say(`docker exec … sync ${second}: exit code ${code}\n${out}`);
  await waitFor('both sides alike', () => isAlike(world));
  await sayDifferences(world, 'after the first sync');

  let good = code === 0 && (await logInByLink(stage));
  for (const [what, fault] of [
    ['each answer late by 1.5 s', { kind: 'latency', ms: 1_500 }],
    ['written, but no answer ever comes', { kind: 'stall' }],
  ] as const) {
    good = (await stopDuringSync(stage, what, fault)) && good;
  }
  return good;
}

/** Changes at the front desk, a stop while they are being written, and a new start. @returns whether all is as it must be */
async function stopDuringSync(stage: Stage, what: string, fault: ProxyFault): Promise<boolean> {
  const { world, daemon } = stage;
  say(`\nstop during a sync (${what})`);
  for (const { proxy } of world.targets) {
    proxy.forget();
    proxy.add({ method: /^(POST|PUT|PATCH|DELETE)$/, times: Number.POSITIVE_INFINITY, fault });
  }
  for (const id of world.clinicTenants.values()) world.clinic.simulate(id, CHANGES);
  await waitFor('writing', async () => writes(world) > 0);
  const { durationMs, exitCode } = await stopContainer(daemon);
  say(`docker stop: ${durationMs} ms, exit code ${exitCode}`);
  const left = await sayDifferences(world, 'at the stop');
  if (left === 0) throw new Error('the sync was over before the stop: the case proves nothing');

  for (const { proxy } of world.targets) proxy.clear();
  await dockerOrThrow('start', daemon);
  await waitFor('both sides alike', () => isAlike(world));
  const after = await sayDifferences(world, 'after the next cycle');
  for (const { proxy } of world.targets) proxy.forget();
  await quietCycle(stage);
  say(`writes in a quiet cycle: ${writes(world)}`);
  return durationMs < ENGINE_PATIENCE_MS && exitCode === 0 && after === 0 && writes(world) === 0;
}

/** A cycle of every tenant that begins after now. */
async function quietCycle({ world, daemon }: Stage): Promise<void> {
  for (const tenant of world.clinicTenants.keys()) {
    await dockerOrThrow('exec', daemon, 'clinic-mirror', 'sync', tenant);
  }
}

/** Runs one tenant's first sync in a separate container that is removed afterwards. */
async function syncAlone({ world, image, runOptions }: Stage, tenant: string): Promise<void> {
  const { code, out, err } = await docker(['run', '--rm', ...runOptions, image, 'clinic-mirror', 'sync', tenant]);
  say(`docker run … sync ${tenant}: exit code ${code}\n${out}${err}`);
  await sayDifferences(world, `after the sync of ${tenant}`);
}

/** Adapts the configuration of the world for a container: secrets in files, a port that is reachable from outside. */
async function setStage(world: World, image: string): Promise<Stage> {
  const settingsFile = join(world.configDir, 'clinic-mirror.yaml');
  const settings = parse(await readFile(settingsFile, 'utf8')) as object;
  const [port, operatorPort] = [await freePort(), await freePort()];
  const ports = { http: { host: '0.0.0.0', port }, operator: { port: operatorPort } };
  await writeFile(settingsFile, stringify({ ...settings, ...ports }));
  const secretsDir = join(world.dir, 'secrets');
  await mkdir(secretsDir);
  for (const [name, value] of Object.entries(world.env)) await writeFile(join(secretsDir, name), value);
  const referring = async (file: string, place: string) => {
    const text = await readFile(file, 'utf8');
    await writeFile(file, text.replaceAll(/\benv: (\w+)/g, `file: ${place}/$1`));
  };
  await referring(settingsFile, '/run/secrets');
  for (const tenant of world.clinicTenants.keys()) {
    const folder = tenantSecretFile(tenant, '');
    await mkdir(join(world.configDir, folder), { recursive: true });
    for (const [name, value] of Object.entries(world.env)) {
      if (name.startsWith(tenantVariable(tenant, ''))) await writeFile(join(world.configDir, folder, name), value);
    }
    await referring(join(world.configDir, 'tenants', `${tenant}.yaml`), folder);
  }
  for (const dir of [world.configDir, secretsDir]) await readableByAll(dir);
  return {
    world,
    image,
    port,
    daemon: `clinic-mirror-demo-${process.pid}`,
    runOptions: [
      ...['--network=host', '--read-only', '--cap-drop=ALL', '--security-opt=no-new-privileges', '--init'],
      ...['--volume', `${world.configDir}:/app/config:ro`, '--volume', `${secretsDir}:/run/secrets:ro`],
    ],
  };
}

async function readableByAll(dir: string): Promise<void> {
  await chmod(dir, 0o755);
  for (const entry of await readdir(dir, { recursive: true, withFileTypes: true })) {
    await chmod(join(entry.parentPath, entry.name), entry.isDirectory() ? 0o755 : 0o444);
  }
}

/** Authorises a connection through the image's command line: a script takes the displayed URL or code to the provider. */
async function logIn({ world, image, runOptions }: Stage, login: DemoLogin): Promise<void> {
  const { tenant, connection, username, password } = login;
  const byDevice = login === world.logins[0];
  let acted: Promise<unknown> | null = null;
  const act = async (shown: string) => {
    if (byDevice) {
      const [, address = '', code = ''] = /Open (\S+) on any device and enter the code {2}(\S+)/.exec(shown) ?? [];
      return approveDevice(address, code, { username, password });
    }
    const address = /^(https?:\S+)$/m.exec(shown)?.[1] ?? '';
    const redirect =
      login.kind === 'clinic'
        ? await authorizeInClinic(address, { username, password })
        : await world.google.authorizeInBrowser(address, { account: username });
    return (await fetch(redirect)).text();
  };
  const command = ['clinic-mirror', 'login', tenant, connection, ...(byDevice ? ['--device'] : [])];
  const { code, err } = await docker(['run', '--rm', ...runOptions, image, ...command], (shown) => {
    if (shown.includes('Waiting')) acted ??= act(shown);
  });
  await acted;
  if (code !== 0) throw new Error(`logging in to ${connection} of ${tenant} failed: ${err}`);
}

/** Logs in once more, the way back leading to the daemon's own port. @returns whether its page says that this worked */
async function logInByLink({ world, daemon }: Stage): Promise<boolean> {
  const login = world.logins.find(({ kind }) => kind === 'google');
  if (login === undefined) throw new Error('the world has no connection to Google');
  const { tenant, connection, username } = login;
  const link = await dockerOrThrow('exec', daemon, 'clinic-mirror', 'login', tenant, connection, '--link');
  const { authorizationUrl, cookie } = await openLoginLink(link);
  const back = await world.google.authorizeInBrowser(authorizationUrl, { account: username });
  const page = await fetch(back, { headers: { cookie } });
  const title = /<title>(.*)<\/title>/.exec(await page.text())?.[1];
  say(`docker exec … login --link: the daemon answered ${page.status} "${title}"`);
  return page.status === 200;
}

/** Returns the kernel's address of the daemon's port (proc_net_tcp: address and port in hexadecimal, state 0A is listening). */
async function listeningAddress({ daemon, port }: Stage): Promise<string> {
  const table = await dockerOrThrow('exec', daemon, 'cat', '/proc/net/tcp');
  const wanted = `:${port.toString(16).toUpperCase().padStart(4, '0')}`;
  const local = table.split('\n').map((line) => line.trim().split(/\s+/));
  const address = local.find(([, where, , state]) => state === '0A' && where?.endsWith(wanted))?.[1];
  return address === `00000000${wanted}` ? `0.0.0.0:${port}` : `unexpectedly ${address}`;
}

async function isAlike(world: World): Promise<boolean> {
  for (const target of world.targets) {
    const { duplicates, missing } = await compare(world, target);
    if (duplicates + missing > 0) return false;
  }
  return true;
}

/** @returns missing and surplus events of all targets together */
async function sayDifferences(world: World, when: string): Promise<number> {
  let sum = 0;
  for (const target of world.targets) {
    const { records, remoteEvents, duplicates, missing } = await compare(world, target);
    sum += duplicates + missing;
    say(
      `${when}: ${target.tenant}/${target.target} ${records} appointments, ${remoteEvents} events, ${missing} missing, ${duplicates} surplus`,
    );
  }
  return sum;
}

function writes(world: World): number {
  return world.targets.flatMap(({ proxy }) => proxy.requests).filter(({ method }) => WRITE_METHODS.has(method)).length;
}

async function waitFor(what: string, condition: () => Promise<boolean>): Promise<void> {
  const endsAt = performance.now() + WAIT_TIMEOUT_MS;
  while (!(await condition())) {
    if (performance.now() > endsAt) throw new Error(`timed out waiting for: ${what}`);
    await pause(500);
  }
}

const image = process.argv[2];
if (image === undefined) {
  process.stderr.write('Which image? node tools/container-demo.ts IMAGE\n');
  process.exitCode = 2;
} else {
  process.exitCode = (await main(image)) ? 0 : 1;
}
