import { describe, expect, test } from 'vitest';
import { MirrorError } from '../../../src/core/model/errors.ts';
import { appointmentOf, NOW } from '../../domain/arbitraries.ts';
import { useRedis } from '../../support/redis.ts';
import { cycle } from '../../tenant/cycle.ts';
import { createModelClinic } from '../../tenant/model-clinic.ts';
import { createModelTarget } from '../../tenant/model-target.ts';
import { openTenant } from '../../tenant/open-tenant.ts';
import { openInstallation } from '../control/open-installation.ts';
import { type Given, type Ran, runProgram } from './run-program.ts';

const redis = useRedis();

function open(booked = 0) {
  const clinic = createModelClinic();
  for (let index = 0; index < booked; index += 1) {
    clinic.appointments.set(`${index}`, appointmentOf(`${index}`, { inHours: 24 + index }));
  }
  const model = createModelTarget();
  const tenant = openTenant({ redis: redis.connect(), clinic, targets: [{ model }], clock: () => NOW });
  return { clinic, model, tenant, installation: openInstallation({ tenants: [tenant] }) };
}

/** Runs one command line against the given installation, else against one of a clinic without appointments. */
function run(args: readonly string[], given: Given = {}): Promise<Ran> {
  return runProgram(args, { installation: open().installation, ...given });
}

describe('a sync', () => {
  test('exits with 0 if everything was written', async () => {
    const { installation, model } = open(3);
    const ran = await run(['sync', 'studio-rossi'], { installation });
    expect(ran).toMatchObject({ code: 0, thrown: null });
    expect(ran.out).toContain('studio-rossi: 3 appointments read');
    expect(ran.out).toMatch(/doctor +in sync +3 +0 +0 +0 +0 +0 +3/);
    expect(model.objects()).toHaveLength(3);
  });

  test('exits with 1 if a change failed', async () => {
    const { installation, model } = open(3);
    model.fault = ({ recordId }) => (recordId === '1' ? 'refused' : null);
    const ran = await run(['sync', 'studio-rossi', '--json'], { installation });
    expect(ran.code).toBe(1);
    expect(JSON.parse(ran.out)).toMatchObject({ targets: [{ reason: 'writes-failed', failing: 1 }] });
  });

  test('exits with 1 if the clinic could not be read, and shows the remedy', async () => {
    const { clinic, installation } = open(3);
    const remedy = 'run "clinic-mirror login"';
    const options = { actor: 'authorization', code: 'not-connected', retry: 'never', remedy } as const;
    clinic.listError = new MirrorError('no user is connected', options);
    const ran = await run(['sync', 'studio-rossi'], { installation });
    expect(ran.code).toBe(1);
    expect(ran.out).toContain('no user is connected (not-connected)');
    expect(ran.out).toContain(remedy);
  });

  test('exits with 1 if the whole target is failing', async () => {
    const { installation, model } = open(1);
    model.wholeTargetError = new MirrorError('refused', {
      actor: 'authorization',
      code: 'login-refused',
      retry: 'never',
    });
    expect(await run(['sync', 'studio-rossi'], { installation })).toMatchObject({ code: 1 });
  });

  test('exits with 1 while manual changes wait for a decision', async () => {
    const { installation, model } = open(2);
    const target = installation.tenants.get('studio-rossi')?.targets.get('doctor');
    target!.configuration.audit = { drift: 'report', rewritesPerDay: 1, changesEverySeconds: 300 };
    await run(['sync', 'studio-rossi'], { installation });
    model.objects()[0]!.deleted = true;
    await run(['audit', 'studio-rossi'], { installation });
    const ran = await run(['sync', 'studio-rossi'], { installation });
    expect(ran).toMatchObject({ code: 1 });
    expect(ran.out).toMatch(/doctor +behind/);
    expect(ran.out).toContain('not in sync: doctor (manual-changes)');
  });
});

describe('the answer', () => {
  test('of status, plan, explain and holds is text, or JSON with --json', async () => {
    const { clinic, installation, tenant } = open(30);
    await cycle(tenant);
    clinic.appointments.clear();
    await cycle(tenant);
    const commands = [
      ['status'],
      ['status', 'studio-rossi'],
      ['plan', 'studio-rossi'],
      ['explain', 'studio-rossi', '1'],
    ];
    for (const command of [...commands, ['holds', 'list'], ['holds', 'list', 'studio-rossi']]) {
      const text = await run(command, { installation });
      expect(text, command.join(' ')).toMatchObject({ code: 0, thrown: null });
      expect(text.out).toMatch(/held|hold/i);
      expect(text.out).not.toMatch(/Mario/);
      const json = await run([...command, '--json'], { installation });
      expect(() => JSON.parse(json.out)).not.toThrow();
    }
  });

  test('for an unknown tenant is an error that lists the known tenants', async () => {
    const { installation } = open();
    for (const command of [
      ['status', 'x'],
      ['plan', 'x'],
      ['sync', 'x'],
      ['explain', 'x', '1'],
      ['holds', 'list', 'x'],
    ]) {
      const { thrown } = await run(command, { installation });
      expect(thrown, command.join(' ')).toMatchObject({
        code: 'no-such-tenant',
        remedy: expect.stringContaining('studio-rossi'),
      });
    }
  });
});

describe('a hold', () => {
  test.each([
    ['approve', 'approved', /The next cycle writes these changes/, 0],
    ['reject', 'rejected', /is rejected: 30 records\.$/m, 30],
  ])('is decided by the command that the list shows: %s', async (verb, state, says, left) => {
    const { clinic, installation, model, tenant } = open(30);
    await cycle(tenant);
    clinic.appointments.clear();
    await cycle(tenant);
    const list = await run(['holds', 'list', 'studio-rossi'], { installation });
    const [, command = ''] =
      new RegExp(`clinic-mirror (holds ${verb} studio-rossi \\S+ --seen \\S+)`).exec(list.out) ?? [];
    const ran = await run(command.split(' '), { installation });
    expect(ran).toMatchObject({ code: 0, thrown: null });
    expect(ran.out).toMatch(says);
    expect(await tenant.holds.list()).toMatchObject([{ state }]);
    expect(installation.pulled).toEqual(['studio-rossi']);
    const [, sync = 'sync studio-rossi'] = /clinic-mirror (sync studio-rossi)\)/.exec(ran.out) ?? [];
    await run(sync.split(' '), { installation });
    expect(model.objects()).toHaveLength(left);
    expect((await run(command.split(' '), { installation })).thrown).toMatchObject({ code: 'hold-decided' });
  });

  test('is decided in part by a file of ids', async () => {
    const { clinic, installation, tenant } = open(30);
    await cycle(tenant);
    clinic.appointments.clear();
    await cycle(tenant);
    const [hold] = await tenant.holds.list();
    const approve = ['holds', 'approve', 'studio-rossi', hold?.id ?? '', '--only', 'ids.txt'];
    const ran = await run(approve, { installation, files: { 'ids.txt': '3\r\n 7 \n\n' } });
    expect(ran.out).toContain(': 2 records.');
    expect(ran.out).toContain(`The remaining records wait in hold ${hold?.id}.`);
    expect(await tenant.holds.list()).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ state: 'approved', partOf: hold?.id, recordIds: ['3', '7'] }),
        expect.objectContaining({ state: 'open', id: hold?.id }),
      ]),
    );
  });
});

describe('a plan', () => {
  test('that is saved shows the command that applies it, and can be applied', async () => {
    const { installation, tenant } = open(3);
    const saved = await run(['plan', 'studio-rossi', '--save'], { installation });
    const [, id = ''] = /clinic-mirror apply studio-rossi ([0-9a-f]{24})$/m.exec(saved.out) ?? [];
    const json = await run(['plan', 'studio-rossi', '--save', '--json'], { installation });
    expect(JSON.parse(json.out)).toMatchObject({ id, targets: [{ lines: [{}, {}, {}] }] });
    expect(await run(['apply', 'studio-rossi', id], { installation })).toMatchObject({ code: 0, thrown: null });
    expect((await tenant.links.read('doctor')).size).toBe(3);
    expect((await run(['apply', 'studio-rossi', id], { installation })).thrown).toMatchObject({ code: 'plan-drifted' });
  });
});

describe('encrypted copies of connections', () => {
  const FILE = { seal: (text: string) => text, open: (text: string) => text };

  test('are printed and restored', async () => {
    const backup = async (tenant: string) => `encrypted copy of ${tenant}`;
    const restore = async (_: string, backup: string) => {
      expect(backup).toBe('text of a-file');
      return { restored: ['clinic'], unchanged: [], protections: 3, pins: 1, rejections: 2, at: 0 };
    };
    expect((await run(['credentials', 'backup', 'studio-rossi'], { backups: { ...FILE, backup, restore } })).out).toBe(
      'encrypted copy of studio-rossi\n',
    );
    const ran = await run(['credentials', 'restore', 'studio-rossi', 'a-file'], {
      backups: { ...FILE, backup, restore },
    });
    expect(ran.out).toContain('Connections restored: clinic. Newer connections kept: none.\n');
    expect(ran.out).toContain(
      'Restored tombstones, receipts and opt-outs: 3; objects restored by undo: 1; rejections: 2.\n',
    );
  });
});

describe('a command line', () => {
  test('names the directory of the configuration, before the command', async () => {
    expect((await run(['--config', '/etc/clinic-mirror', 'status'])).configs).toEqual(['/etc/clinic-mirror']);
    expect((await run(['-c', 'elsewhere', 'run'])).configs).toEqual(['elsewhere']);
  });

  test('runs the whole daemon, or the named role', async () => {
    expect((await run(['run'])).roles).toEqual(['all']);
    expect((await run(['run', '--role', 'worker'])).roles).toEqual(['worker']);
  });

  test.each([
    [
      'an unknown role',
      ['run', '--role', 'boss'],
      "option '--role <role>' argument 'boss' is invalid. Allowed choices are all, scheduler, worker, http.",
    ],
    ['an unknown command', ['carry', 'studio-rossi'], "unknown command 'carry'"],
    ['no tenant', ['sync'], "missing required argument 'tenant'"],
  ])('with %s exits with 1, with the fault and a pointer to --help', async (_, args, says) => {
    const ran = await run(args);
    expect(ran.code).toBe(1);
    expect(ran.err).toBe(`error: ${says}\nAdd --help for the usage of the command.\n`);
    expect(ran.out).toBe('');
  });

  test.each([
    ['a mistyped command', ['statsu'], "error: unknown command 'statsu'\n(Did you mean status?)\n"],
    [
      'a mistyped command of a group',
      ['holds', 'aprove'],
      "error: unknown command 'aprove'\n(Did you mean approve?)\n",
    ],
    ['a mistyped option', ['status', '--jsn'], "error: unknown option '--jsn'\n(Did you mean --json?)\n"],
  ])('with %s shows only the likely name', async (_, args, says) => {
    expect(await run(args)).toMatchObject({ code: 1, err: says, out: '' });
  });

  test('lists its commands by task: each command belongs to a task', async () => {
    const { out } = await run(['--help']);
    const headings = [...out.matchAll(/^(\S.*):$/gm)].map(([, heading]) => heading);
    expect(headings).toEqual([
      'Options',
      'Set up',
      'Run',
      'Find problems',
      'Decide, undo and forget',
      'Back up and recover',
      'More reports',
      'Integrations',
    ]);
  });

  test('with --help exits with 0, and every command has a description', async () => {
    const ran = await run(['--help']);
    expect(ran.code).toBe(0);
    for (const command of ['run', 'config', 'login', 'plan', 'sync', 'status', 'explain', 'holds', 'credentials']) {
      expect(ran.out).toMatch(new RegExp(`^  ${command}\\b.* {2}\\S`, 'm'));
    }
    for (const line of ran.out.split('\n')) expect(line.length).toBeLessThanOrEqual(100);
  });
});

describe('exit codes', () => {
  test('of sync: 0 if all is in sync, 1 with the reason if a record, a scope or an id is not', async () => {
    const { clinic, installation } = open(2);
    expect((await run(['sync', 'studio-rossi'], { installation })).code).toBe(0);
    clinic.unusable.add('1');
    expect(await run(['sync', 'studio-rossi'], { installation })).toMatchObject({
      code: 1,
      out: expect.stringContaining('1 unreadable record'),
    });
    clinic.unusable.clear();
    clinic.agendas = async () => {
      throw new MirrorError('no', { actor: 'authorization', code: 'missing-claim', retry: 'never', status: 403 });
    };
    expect(await run(['sync', 'studio-rossi'], { installation })).toMatchObject({
      code: 1,
      out: expect.stringContaining('agendas (missing-claim)'),
    });
    clinic.listError = new MirrorError('away', { actor: 'remote', code: 'server-error', retry: 'later', status: 503 });
    expect((await run(['sync', 'studio-rossi'], { installation })).code).toBe(1);
  });

  test('of status: 0 in every state, and an unknown tenant is refused', async () => {
    const { clinic, installation } = open(1);
    clinic.unusable.add('0');
    await run(['sync', 'studio-rossi'], { installation });
    expect(await run(['status'], { installation })).toMatchObject({
      code: 0,
      out: expect.stringContaining('incomplete'),
    });
    expect((await run(['status', 'nobody'], { installation })).thrown).toMatchObject({ code: 'no-such-tenant' });
  });
});
