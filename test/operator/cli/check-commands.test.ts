import { describe, expect, test } from 'vitest';
import { MirrorError } from '../../../src/core/model/errors.ts';
import type { StateProbe } from '../../../src/operator/control/doctor.ts';
import { openInstallation } from '../control/open-installation.ts';
import { type Given, type Ran, runProgram } from './run-program.ts';

/** Runs one command line against an installation without tenants. */
function run(args: readonly string[], given: Given = {}): Promise<Ran> {
  return runProgram(args, { installation: openInstallation({ tenants: [] }), ...given });
}

/** A Redis of which all is well, unless a test says otherwise. */
function stateWith(probe: Partial<StateProbe> = {}): StateProbe {
  return {
    ...{
      check: async () => {},
      requireRights: async () => {},
      requireWrites: async () => {},
      requireIdentity: async () => {},
    },
    ...{ unopened: async () => [], openSecrets: () => [], lacksTrustedProxies: () => false, time: async () => 0 },
    ...{ hosts: () => [], resolve: null },
    view: async () => ({ durability: null, directory: 'kept', wentBackAt: null, wentBackTo: null, writesLostAt: null }),
    ...probe,
  };
}

const REMEDY = 'start Redis';
const AWAY = stateWith({
  check: async () => {
    const options = { actor: 'remote', code: 'redis-unreachable', retry: 'later', remedy: REMEDY } as const;
    throw new MirrorError('Redis does not answer', options);
  },
});
const FAULTS = [{ file: 'clinic-mirror.yaml' }];

describe('the configuration check', () => {
  test('exits with 0 without faults, and shows the summary', async () => {
    expect(await run(['config', 'check'])).toMatchObject({ code: 0, out: 'the summary\n', thrown: null });
  });

  test('exits with 2 if faults exist, as text and as JSON', async () => {
    expect(await run(['config', 'check'], { faults: FAULTS })).toMatchObject({ code: 2 });
    const ran = await run(['config', 'check', '--json'], { faults: FAULTS });
    expect([ran.code, JSON.parse(ran.out)]).toEqual([2, { ok: false, faults: FAULTS, warnings: [] }]);
  });

  test('with --live shows the findings of doctor below the summary, and exits with 1 at a problem', async () => {
    const well = await run(['config', 'check', '--live'], { state: stateWith() });
    expect(well.code).toBe(0);
    expect(well.out).toMatch(/^the summary\n\n[\s\S]*Redis: [\s\S]*\nNo problems found\./);
    const away = await run(['config', 'check', '--live', '--json'], { state: AWAY });
    expect([away.code, JSON.parse(away.out)]).toMatchObject([
      1,
      { ok: false, faults: [], findings: [{ subject: 'Redis', result: 'problem', code: 'redis-unreachable' }] },
    ]);
  });

  test('with --live connects to no server while files have faults', async () => {
    const ran = await run(['config', 'check', '--live', '--json'], { faults: FAULTS, state: AWAY });
    expect([ran.code, JSON.parse(ran.out)]).toEqual([2, { ok: false, faults: FAULTS, warnings: [] }]);
  });

  test('with --live refuses an unknown tenant (no-such-tenant)', async () => {
    const { thrown } = await run(['config', 'check', '--live', 'nobody'], { state: stateWith() });
    expect(thrown).toMatchObject({ code: 'no-such-tenant' });
  });
});

describe('doctor', () => {
  test('exits with 0 without problems, and counts the warnings', async () => {
    expect(await run(['doctor'], { state: stateWith() })).toMatchObject({ code: 0, thrown: null });
    const { code, out } = await run(['doctor'], { state: stateWith({ lacksTrustedProxies: () => true }) });
    expect(code).toBe(0);
    expect(out).toMatch(/^warning +/m);
    expect(out).toMatch(/No problems found\.\n\nFix in this order:\n1\. /);
  });

  test('exits with 1 at a problem, with its code, and shows the first action', async () => {
    const { code, out } = await run(['doctor'], { state: AWAY });
    expect(code).toBe(1);
    expect(out).toMatch(/^PROBLEM +Redis: .*\(redis-unreachable\)/m);
    expect(out).toContain(`Fix in this order:\n1. Redis:\n   ${REMEDY}`);
    expect(out).not.toContain('No problems found');
  });

  test('as JSON prints only the findings, with the same exit code', async () => {
    const { code, out } = await run(['doctor', '--json'], { state: AWAY });
    expect([code, JSON.parse(out)]).toMatchObject([1, { findings: [{ result: 'problem', next: REMEDY }] }]);
  });
});
