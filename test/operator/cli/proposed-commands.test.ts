import { describe, expect, test } from 'vitest';
import { asMirrorError } from '../../../src/core/model/errors.ts';
import { HOUR_MS, toZonedIso } from '../../../src/core/model/time.ts';
import { render } from '../../../src/messages/message.ts';
import { signInByPassphrase, useSignInLink } from '../../../src/operator/control/sign-in.ts';
import { appointmentOf, NOW } from '../../domain/arbitraries.ts';
import { TENANT } from '../../oauth/connection.ts';
import { useRedis } from '../../support/redis.ts';
import { createModelClinic } from '../../tenant/model-clinic.ts';
import { createModelTarget } from '../../tenant/model-target.ts';
import { openTenant } from '../../tenant/open-tenant.ts';
import { accessSettings, openAccessWorld, openActing } from '../control/acting.ts';
import { openConfigurations } from '../control/open-configurations.ts';
import { openInstallation } from '../control/open-installation.ts';
import { openServerAway } from '../control/server-away.ts';
import { openActsLogins, openActsWorld } from '../control/services-world.ts';
import { type Given, runProgram } from './run-program.ts';

const redis = useRedis();

/** The words of the command in a refusal's remedy, or in another text. */
function commandIn(text: unknown): string[] {
  const remedy = typeof text === 'string' ? text : render(asMirrorError(text).texts.remedy ?? '');
  const [, command = ''] = /clinic-mirror ([^",;:\n]+)/.exec(remedy) ?? [];
  return command.trim().split(' ');
}

/** Runs a command that is refused, and then the command that the refusal proposes. */
async function refuseAndFollow(given: Given, refused: readonly string[]) {
  const { thrown } = await runProgram(refused, given);
  const followed = await runProgram(commandIn(thrown), given);
  expect([followed.thrown, followed.code]).toEqual([null, 0]);
  return { code: asMirrorError(thrown).code, shown: followed.out };
}

/** What a refusal of an unknown name needs: the state with one such thing, the name of it, and the command with a name. */
interface Unknown {
  given: Given;
  name: string;
  command(name: string): string[];
}

const acting = () => openActing();

async function heldInstallation(): Promise<Given & { hold: string }> {
  const world = await openActsWorld(redis.connect());
  const { id } = await world.heldRun();
  return { installation: world.installation, acting: acting(), hold: id };
}

async function openSessions(): Promise<Unknown> {
  const { desk } = openAccessWorld(redis.connect(), { access: accessSettings({ passphrase: true }) });
  const life = { mostMs: HOUR_MS, idleMs: HOUR_MS };
  const from = { browser: 'Firefox', network: '192.0.2.0/24' };
  const session = await desk.sessions.begin('owner', { way: 'passphrase' }, life, from);
  const given = { access: desk, acting: acting() };
  return { given, name: desk.sessions.idOf(session), command: (name) => ['sessions', 'end', name] };
}

const UNKNOWN: Record<string, () => Promise<Unknown>> = {
  async 'no-such-hold'() {
    const { hold, ...given } = await heldInstallation();
    return { given, name: hold, command: (name) => ['holds', 'approve', TENANT, name] };
  },
  async 'no-such-run'() {
    const world = await openActsWorld(redis.connect());
    const name = await world.changedRun();
    const given = { installation: world.installation, acting: acting() };
    return { given, name, command: (run) => ['undo', run, '--dry-run'] };
  },
  async 'no-such-link'() {
    const { desk } = await openActsLogins(() => redis.connect());
    const given = { services: desk, acting: acting() };
    await runProgram(['login', TENANT, '--link'], given);
    const [link] = await desk.links.list(TENANT);
    return {
      given,
      name: link?.id ?? 'none',
      command: (name) => ['logins', 'links', 'withdraw', TENANT, name],
    };
  },
  'no-such-session': openSessions,
  async 'no-such-token'() {
    const { desk, token } = openAccessWorld(redis.connect());
    await token('ci');
    const given = { access: desk, acting: acting() };
    return { given, name: 'ci', command: (name) => ['access', 'token', 'revoke', name] };
  },
  async 'server-not-away'() {
    const { tenant } = await openActsWorld(redis.connect());
    const installation = openInstallation({ tenants: [tenant] });
    await openServerAway(redis.connect(), installation);
    return { given: { installation }, name: 'dav.example:8443', command: (name) => ['retry', name] };
  },
  async 'no-such-tenant'() {
    const desk = openConfigurations(redis.connect(), {});
    const given: Given = {
      configurations: async () => desk,
      acting: acting(),
      files: { 'nuova.yaml': 'name: Nuova\n' },
    };
    await runProgram(['tenants', 'add', 'nuova', 'nuova.yaml'], given);
    return { given, name: 'nuova', command: (name) => ['tenants', 'export', name] };
  },
};

describe('the command that a refusal of an unknown name proposes', () => {
  test.each(Object.entries(UNKNOWN))('shows the name that the refused command then accepts: %s', async (code, open) => {
    const { given, name, command } = await open();
    const followed = await refuseAndFollow(given, command('unknown'));
    expect(followed.code).toBe(code);
    const [listed = ''] = followed.shown.split(/\s+/).filter((word) => word === name);
    const again = await runProgram(command(listed), given);
    expect([listed, again.thrown]).toEqual([name, null]);
  });
});

test('the revoking of a token whose name is taken frees the name', async () => {
  const { desk, token } = openAccessWorld(redis.connect());
  const before = await token('ci');
  const given = { access: desk, acting: acting() };
  const create = ['access', 'token', 'create', 'ci', '--level', 'viewer'];
  expect(await refuseAndFollow(given, create)).toMatchObject({ code: 'token-name-taken' });
  const { out, thrown } = await runProgram(create, given);
  expect(thrown).toBeNull();
  expect(await desk.tokens.find(before)).toBeNull();
  expect(await desk.tokens.find(out.trim())).toMatchObject({ name: 'ci' });
});

test.each([
  ['passphrase-wrong', 1],
  ['sign-in-too-often', 22],
] as const)('the link that a host makes after %s sets another passphrase', async (code, tries) => {
  const { desk } = openAccessWorld(redis.connect(), { access: accessSettings({ passphrase: true }) });
  await desk.passphrase.set('correct horse battery');
  const stranger = { caller: '192.0.2.7', rememberedBrowser: null };
  const attempt = () => signInByPassphrase(desk, 'mistyped', stranger).catch((error: unknown) => error);
  let refusal: unknown = null;
  for (let count = 0; count < tries; count += 1) refusal = await attempt();
  expect(refusal).toMatchObject({ code });
  const link = await runProgram(commandIn(refusal), {
    access: desk,
    acting: acting(),
    publicUrl: 'https://mirror.test',
  });
  const ticket = /https:\/\/mirror\.test\/\S*?([\w-]{20,})/.exec(link.out)?.[1] ?? '';
  const chosen = 'seven violet kettles sing';
  expect(await useSignInLink(desk, ticket, chosen)).toMatchObject({ session: expect.any(String) });
  const elsewhere = { ...stranger, caller: '192.0.2.8' };
  expect(await signInByPassphrase(desk, chosen, elsewhere)).toMatchObject({ account: 'owner' });
});

test('a plan that no longer fits, or is not stored, is replaced by the saved plan, which is applied', async () => {
  const clinic = createModelClinic();
  const book = (inHours: number) => clinic.appointments.set('1', appointmentOf('1', { inHours }));
  book(24);
  const model = createModelTarget();
  const tenant = openTenant({ redis: redis.connect(), clinic, targets: [{ model }], clock: () => NOW });
  const given = { installation: openInstallation({ tenants: [tenant] }), acting: acting() };
  const saved = await runProgram(['plan', TENANT, '--save'], given);
  const refused = { 'plan-drifted': commandIn(saved.out), 'no-such-plan': ['apply', TENANT, '0'.repeat(24)] };
  for (const [index, [code, command]] of Object.entries(refused).entries()) {
    const inHours = 30 + index;
    book(inHours);
    const followed = await refuseAndFollow(given, command);
    expect(followed.code).toBe(code);
    expect(await runProgram(commandIn(followed.shown), given)).toMatchObject({ thrown: null, code: 0 });
    expect(model.objects()).toMatchObject([
      { item: { time: { start: toZonedIso('Europe/Rome', NOW + inHours * HOUR_MS) } } },
    ]);
  }
});
