import { readFile, rename, writeFile } from 'node:fs/promises';
import { type AddressInfo, connect, createServer } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { parse, stringify } from 'yaml';
import { compare } from '../../demo/compare.ts';
import type { Problem } from '../../src/core/model/problems.ts';
import type { Status } from '../../src/operator/control/status-schemas.ts';
import { outboundSection } from '../../src/settings/outbound-schema.ts';
import { useRadicale } from '../support/radicale.ts';
import { useRedis } from '../support/redis.ts';
import { waitFor } from '../support/wait-for.ts';
import { start } from './support/daemons.ts';
import { RADICALE_USERS } from './support/small-targets.ts';
import type { SmallWorld } from './support/small-world.ts';
import { isExact, logged, tenantFile, useSmallWorld } from './support/small-world.ts';

const redis = useRedis();
const radicale = useRadicale({ users: RADICALE_USERS });

/** A name in the tenant's file that leads to a network that the operator has not opened. */
const NAME = 'calendars-of-two';
const INSIDE = '127.0.0.2';
const ALLOWED = '127.0.0.1/32';
const NAMES = fileURLToPath(new URL('../support/names-preload.ts', import.meta.url));

/** An internal server in front of the real one, which counts connections. */
async function startInside(behind: URL): Promise<{ port: number; connections(): number }> {
  let connections = 0;
  const server = createServer((socket) => {
    connections += 1;
    const onward = connect(Number(behind.port), behind.hostname);
    for (const one of [socket, onward]) one.on('error', () => {});
    socket.pipe(onward).pipe(socket);
  });
  await new Promise<void>((resolve) => server.listen(0, INSIDE, resolve));
  onTestFinished(() => void server.close());
  return { port: (server.address() as AddressInfo).port, connections: () => connections };
}

async function rewrite(file: string, change: (text: string) => string): Promise<void> {
  await writeFile(`${file}.new`, change(await readFile(file, 'utf8')));
  await rename(`${file}.new`, file);
}

const settingsWith = (calendars: string[]) => (text: string) => {
  const settings = parse(text) as object;
  return stringify({ ...settings, outbound: { ...outboundSection.parse({}), calendars } });
};

async function open() {
  const world = await useSmallWorld({
    ...{ redisUrl: redis.url, davServer: radicale(), targets: ['caldav'], tenants: 2, appointments: 20 },
    settings: { operator: { port: 0, access: {} } },
  });
  const [, { proxy }] = world.targets as [unknown, SmallWorld['targets'][number]];
  const inside = await startInside(new URL(proxy.url));
  const home = `http://${NAME}:${inside.port}`;
  await rewrite(tenantFile(world, 'clinic-2'), (text) => text.replaceAll(proxy.url, home));
  const settings = join(world.configDir, 'clinic-mirror.yaml');
  await rewrite(settings, settingsWith([ALLOWED]));
  // The date of the tests stays.
  const options = `${process.env.NODE_OPTIONS ?? ''} --import=${NAMES}`.trim();
  Object.assign(world.env, { NODE_OPTIONS: options, TEST_NAMES: JSON.stringify({ [NAME]: INSIDE }) });
  const daemon = start(world);
  await waitFor(() => logged(world, 'daemon started').length > 0, { what: 'the daemon to run' });
  const { operatorPort } = logged(world, 'daemon started')[0] as { operatorPort: number };
  return { world, inside, daemon, settings, operatorPort };
}

const status = async (world: SmallWorld) => JSON.parse((await world.cli('status', '--json')).out) as Status;
const ofSecond = ({ tenant }: { tenant: string | null }) => tenant === 'clinic-2';
const follows = async (world: SmallWorld, index: number) =>
  isExact(await compare(world, world.targets[index] as SmallWorld['targets'][number]));

test('a server name with an internal IP address is reported, gets no connection, and blocks no tenant', async () => {
  const { world, inside, daemon, settings, operatorPort } = await open();
  await waitFor(() => follows(world, 0), { what: 'the calendar of the other tenant' });
  await waitFor(async () => (await status(world)).problems.some(ofSecond), { what: 'the problem' });

  const setting = 'outbound.calendars of clinic-mirror.yaml';
  const { problems } = await status(world);
  expect(problems.filter(ofSecond)).toMatchObject([{ code: 'address-not-allowed', health: 'action-required' }]);
  expect(problems.filter(ofSecond)[0]?.next).toContain(setting);
  const { out } = await world.cli('status', '--problems');
  expect(out).toContain('address-not-allowed');
  expect(out.replaceAll(/\s+/g, ' ')).toContain(setting);
  const token = (await world.cli('access', 'token', 'create', 'ops', '--level', 'viewer')).out.trim();
  const headers = { authorization: `Bearer ${token}` };
  const answer = await fetch(`http://127.0.0.1:${operatorPort}/api/v1/problems`, { headers });
  const listed = ((await answer.json()) as { problems: Problem[] }).problems.filter(ofSecond);
  expect(listed).toMatchObject([{ code: 'address-not-allowed', next: expect.stringContaining(setting) }]);
  const lines = logged(world, 'target backs off') as { tenant: string; code: string; remedy: string }[];
  expect(lines.filter(ofSecond)[0]).toMatchObject({
    code: 'address-not-allowed',
    remedy: expect.stringContaining(setting),
  });
  expect(inside.connections()).toBe(0);

  // The operator allows the network; the daemon takes the file up while it runs.
  await rewrite(settings, settingsWith([ALLOWED, `${INSIDE}/32`]));
  daemon.process.kill('SIGHUP');
  await waitFor(() => follows(world, 1), { what: 'the internal calendar' });
  await waitFor(async () => !(await status(world)).problems.some(ofSecond), { what: 'the problem to go' });
  expect(inside.connections()).toBeGreaterThan(0);
});
