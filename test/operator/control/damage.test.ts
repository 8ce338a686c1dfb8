import { expect, test } from 'vitest';
import { damagedOf, damageProblem } from '../../../src/operator/control/damage.ts';
import type { Installation } from '../../../src/operator/control/installation.ts';
import { NOW } from '../../domain/arbitraries.ts';

const state = (tenant: string | null) => ({ tenant, kinds: ['runs' as const, 'holds' as const], sinceAt: NOW });

function installation(): Pick<Installation, 'damaged' | 'outlines'> {
  const outlines = new Map([
    ['new', { formerly: 'old' }],
    ['other', { formerly: null }],
  ]);
  return {
    damaged: { list: async () => [state('old'), state('other'), state('removed'), state(null)] },
    outlines,
  } as unknown as Installation;
}

test('damaged data is shown under the present id of a tenant; shared data only to those who see all tenants', async () => {
  const tenants = async (only: string[] | null) => (await damagedOf(installation(), only)).map(({ tenant }) => tenant);
  expect(await tenants(null)).toEqual(['new', 'other', null]);
  expect(await tenants(['new'])).toEqual(['new']);
});

test('the problem of damaged data names its kinds and requires a person', () => {
  expect(damageProblem(state('new'))).toMatchObject({
    ...{ tenant: 'new', code: 'state-damaged', health: 'action-required', sinceAt: NOW },
    sentence: expect.anything(),
  });
  expect(JSON.stringify(damageProblem(state('new')))).toContain('runs, holds');
});
