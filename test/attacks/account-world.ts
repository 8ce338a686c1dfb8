import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { parse, stringify } from 'yaml';
import { silentLogger } from '../../src/core/log/logger.ts';
import { createLoginServices } from '../../src/daemon/operator-services.ts';
import { startDaemon } from '../../src/main.ts';
import { acceptAccount, beginRemoteLogin } from '../../src/operator/control/logins.ts';
import { status } from '../../src/operator/control/status.ts';
import { freePort } from '../../tools/free-port.ts';
import { openLoginLink } from '../../tools/login-link.ts';
import type { SmallTarget } from '../e2e/support/small-configuration.ts';
import { type SmallWorld, startSmallWorld } from '../e2e/support/small-world.ts';
import { waitFor } from '../support/wait-for.ts';

/** Signs in with an account of no clinic. */
export const STRANGER = 'stranger@elsewhere.example';
/** The clinic's id. */
export const TENANT = 'clinic-1';

interface Settings {
  account?: (doctor: string) => object;
  workspaceDomains?: string[];
}

/**
 * Opens a clinic whose doctor's calendar names patients, with a daemon that accepts connections by link. The calendar has no connection
 * yet.
 * @param redisUrl the installation's Redis
 * @param options.account the account that the settings expect
 * @param options.workspaceDomains domains of organisations at Google
 */
export async function open(redisUrl: string, { account, workspaceDomains = [] }: Settings = {}) {
  const port = await freePort();
  const base = `http://127.0.0.1:${port}`;
  const callback = `${base}/oauth/callback`;
  const dataDirectory = await mkdtemp(join(tmpdir(), 'clinic-mirror-account-'));
  onTestFinished(() => rm(dataDirectory, { recursive: true }));
  const world = await startSmallWorld({
    redisUrl,
    appointments: 12,
    target: { title: 'full', titleReason: 'the doctor asked for it' },
    // A client that need not use PKCE, which is the worse case.
    google: { clients: [{ type: 'web', redirectUris: [callback] }], workspaceDomains },
    settings: { http: { port, publicUrl: base }, dataDirectory },
  });
  onTestFinished(() => world.close());
  const target = world.targets[0] as SmallTarget;
  if (account !== undefined) await expectAccount(world, target, account(target.account));
  await world.logIn({ connections: ['clinic'] });
  const daemon = await startDaemon(world.open().configuration, silentLogger, new AbortController().signal);
  onTestFinished(() => daemon.close());

  const desk = createLoginServices(world.opened());
  const newLink = async () =>
    (await beginRemoteLogin(desk, { tenant: TENANT, connection: target.target }, 'anna', null)).url;
  const accept = (account: string) =>
    acceptAccount(desk, { tenant: TENANT, connection: target.target }, account, new AbortController().signal);
  /** Opens the link and signs in. @returns the provider's redirect, with the browser's cookies */
  const logInBy = async (link: string, who: string) => {
    const { authorizationUrl, cookie } = await openLoginLink(link);
    return { back: await world.google.authorizeInBrowser(authorizationUrl, { account: who }), cookie };
  };
  const connect = async (who: string) => {
    const { back, cookie } = await logInBy(await newLink(), who);
    return visit(back, cookie);
  };
  const look = async () => {
    const [tenant] = (await status(world.opened().installation, TENANT)).tenants;
    const login = tenant?.connections.find(({ connection }) => connection === target.target);
    return { login, target: tenant?.targets[0] };
  };
  const settled = (code: string) =>
    waitFor(async () => (await look()).target?.failure?.code === code, { what: `the target to stand: ${code}` });
  /** Returns the audit log's records about links: verb, outcome, code, and account. */
  const told = async () => {
    const lines = await Array.fromAsync(world.opened().acts.log?.read() ?? []);
    const entries = lines.flatMap(({ entry }) => (entry?.verb.endsWith('-link') === true ? [entry] : []));
    return entries.map(({ verb, outcome, code, what }) => [verb, outcome, code, what.account ?? null]);
  };
  return { world, target, told, callback, accept, newLink, logInBy, connect, look, settled };
}

async function expectAccount(world: SmallWorld, { target }: SmallTarget, account: object): Promise<void> {
  const file = join(world.configDir, 'tenants', `${TENANT}.yaml`);
  const content = parse(await readFile(file, 'utf8')) as { connections: Record<string, object> };
  content.connections[target] = { ...content.connections[target], account };
  await writeFile(file, stringify(content));
}

/** What a browser shows that is led there. */
export async function visit(address: string, cookie = ''): Promise<{ status: number; title: string | undefined }> {
  const answer = await fetch(address, { headers: cookie === '' ? {} : { cookie } });
  return { status: answer.status, title: /<title>(.*)<\/title>/.exec(await answer.text())?.[1] };
}

/** What a browser is shown. */
export const REFUSED = { status: 400, title: 'Not connected' };
export const HELD = { status: 200, title: 'Almost done' };
export const CONNECTED = { status: 200, title: 'Connected' };
