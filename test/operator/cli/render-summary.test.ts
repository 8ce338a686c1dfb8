import { describe, expect, test } from 'vitest';
import { HOUR_MS, MINUTE_MS } from '../../../src/core/model/time.ts';
import { renderProblems, renderSummary, renderTenants } from '../../../src/operator/cli/render-summary.ts';
import { renderTime } from '../../../src/operator/cli/table.ts';
import { NOW } from '../../domain/arbitraries.ts';
import { loginOf, problems, statusOf, targetOf, tenantOf } from '../control/status-of.ts';
import { flat } from './arbitraries.ts';

const NEEDS_LOGIN = { connections: [loginOf('needs-login', { reason: 'interaction-required' })] };
const RETRYING = { connections: [loginOf('retrying', { nextTryAt: NOW + MINUTE_MS })] };

describe('problems', () => {
  test('that require action come before the retrying ones, and an empty group is omitted', () => {
    const both = [...problems(RETRYING), ...problems(NEEDS_LOGIN)];
    expect(renderProblems(both, NOW).map((block) => block.split('\n')[0])).toEqual(['ACTION REQUIRED', 'RETRYING']);
    expect(renderProblems([], NOW)).toEqual([]);
  });

  test('show their command completely on a separate line', () => {
    const [problem] = problems(NEEDS_LOGIN);
    const next = `clinic-mirror login ${'x'.repeat(150)} dav`;
    expect(
      renderProblems([{ ...problem!, next }], NOW)[0]
        ?.split('\n')
        .at(-1),
    ).toBe(`    ${next}`);
  });

  test('show the time of the next attempt', () => {
    expect(flat(renderProblems(problems(RETRYING), NOW)[0]!)).toContain(`retrying at ${renderTime(NOW + MINUTE_MS)}`);
  });

  test('show the future start of harm, and the number of pending changes', () => {
    const [problem] = problems(NEEDS_LOGIN);
    const shown = (breaksAt: number, waiting: number) =>
      flat(renderProblems([{ ...problem!, breaksAt, waiting }], NOW)[0]!);
    expect(shown(NOW + 3 * HOUR_MS, 1)).toMatch(/in 3 h, at .*, 1 pending change/);
    expect(shown(NOW, 2)).not.toMatch(/, at 20/);
    expect(shown(NOW, 2)).toContain('2 pending changes');
  });

  test('of many clinics list the first thirty', () => {
    const [problem] = problems(NEEDS_LOGIN);
    const clinics = Array.from({ length: 32 }, (_, index) => ({ tenant: `c${index}`, waiting: 0 }));
    const [text = ''] = renderProblems([{ ...problem!, tenants: clinics } as NonNullable<typeof problem>], NOW);
    expect(flat(text)).toMatch(/32 affected tenants \(c0, .*, c29, and 2 more\)/);
  });
});

describe('the summary', () => {
  const ill = (tenant: string, changes: object) =>
    problems({ tenant, ...changes }).map((problem) => ({ ...problem, tenant }));

  test('counts each clinic once, by its most urgent state', () => {
    const tenants = ['a', 'b', 'c'].map((tenant) => tenantOf({ tenant }));
    const found = [...ill('a', NEEDS_LOGIN), ...ill('a', RETRYING), ...ill('b', RETRYING)];
    expect(renderSummary({ ...statusOf(tenants), problems: found })).toMatch(
      /: 3 tenants, 1 action required, 1 retrying, 1 ok$/,
    );
  });

  test('counts a paused clinic and one in its first sync as neither ok nor retrying', () => {
    const first = targetOf('first-sync', { sync: 'behind', firstSync: { written: 2, of: 5 } });
    const tenants = [tenantOf({ tenant: 'a', targets: [first] }), tenantOf({ tenant: 'b', paused: true })];
    expect(renderSummary(statusOf(tenants))).toMatch(/0 retrying, .*1 .*, 1 paused, 0 ok$/);
  });

  test('says that no tenant is configured', () => {
    expect(renderSummary(statusOf([]))).toBe('No tenant is configured.');
  });
});

test('a clinic in its first sync shows its figures in its line', () => {
  const firstSync = { written: 20, of: 70 };
  const target = targetOf('first-sync', { sync: 'behind', firstSync });
  expect(renderTenants([tenantOf({ targets: [target], firstSync })], NOW)).toMatch(/^aurora +behind, 20\/70 /m);
});
