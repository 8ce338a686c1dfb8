import { expect, test } from 'vitest';
import {
  groupsOf,
  healthByTenant,
  needsPerson,
  type Problem,
  problemsWithin,
  tenantsOf,
} from '../../../src/core/model/problems.ts';

const problemOf = (tenant: string | null, changes: Partial<Problem> = {}): Problem => ({
  ...needsPerson({ tenant, subject: 'target doctor', code: 'on-hold', sentence: 'removals wait', next: null }),
  ...changes,
});
const SHARED = problemOf(null, {
  waiting: 6,
  tenants: [
    { tenant: 'aurora', waiting: 2 },
    { tenant: 'bianchi', waiting: 3 },
    { tenant: 'rossi', waiting: 1 },
  ],
});

test('a problem is of its tenant, of each clinic that shares it, or of none', () => {
  expect([problemOf('rossi'), SHARED, problemOf(null)].map(tenantsOf)).toEqual([
    ['rossi'],
    ['aurora', 'bianchi', 'rossi'],
    [],
  ]);
});

test('a user with some clinics sees no problem of another one and none of the whole installation', () => {
  const all = [problemOf('rossi'), problemOf('bianchi'), problemOf(null)];
  expect(problemsWithin(all, (tenant) => tenant === 'rossi')).toEqual([problemOf('rossi')]);
});

test('of a shared problem the other clinics and their changes are left out', () => {
  const [seen] = problemsWithin([SHARED], (tenant) => tenant !== 'bianchi');
  expect(seen).toMatchObject({ waiting: 3, tenants: [{ tenant: 'aurora' }, { tenant: 'rossi' }] });
  expect(JSON.stringify(seen)).not.toContain('bianchi');
  expect(problemsWithin([SHARED], () => false)).toEqual([]);
});

test('each tenant is in one group, by the worst of its targets and problems', () => {
  const needed = (tenant: string): Problem =>
    needsPerson({ tenant, subject: 'clinic', code: 'code', sentence: 'sentence', next: null });
  const tenantOf = (tenant: string, others: object = {}) => ({
    ...{ tenant, paused: false, health: 'ok' as const, firstSync: null },
    ...others,
  });
  const tenants = [
    tenantOf('well'),
    tenantOf('held', { health: 'action-required' }),
    tenantOf('waits', { health: 'retrying' }),
    tenantOf('begins', { firstSync: { written: 0, of: 3 } }),
    tenantOf('rests', { paused: true, health: 'action-required' }),
    tenantOf('erases', { paused: true, health: 'action-required' }),
  ];
  const problems = [needed('erases'), needed('unusable'), { ...needed('waits'), health: 'retrying' as const }];
  const { needing, waiting, ...others } = groupsOf(tenants, problems);
  expect(needing).toEqual(['held', 'erases', 'unusable']);
  expect(waiting).toEqual(['waits']);
  expect(Object.entries(others).map(([group, some]) => [group, some.map(({ tenant }) => tenant)])).toEqual([
    ['paused', ['rests']],
    ['first', ['begins']],
    ['well', ['well']],
  ]);
  expect(healthByTenant(tenants, [{ ...needed('well'), health: 'retrying' }]).get('well')).toBe('retrying');
});
