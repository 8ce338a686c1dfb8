import { describe, expect, test } from 'vitest';
import type { Installation } from '../../../src/operator/control/installation.ts';
import { listProblems, listTenants } from '../../../src/operator/control/tenant-list.ts';
import type { InvalidTenant } from '../../../src/settings/configuration.ts';
import { openInstallation } from './open-installation.ts';

const FAULTY = { id: 'faulty', faults: [{}, {}] } as unknown as InvalidTenant;
const INSTALLATION = { ...openInstallation({ tenants: [], unusable: [FAULTY] }), unchecked: new Set(['unread']) };
const ALL = { after: null, limit: 10 };

describe('a list of tenants', () => {
  test('contains tenants that do not run: a faulty one needs an operator, an unchecked one does not', async () => {
    const { items } = await listTenants(INSTALLATION, () => true, ALL);
    expect(items).toMatchObject([
      { tenant: 'faulty', name: null, checked: true, faults: 2, health: 'action-required', targets: 0 },
      { tenant: 'unread', name: null, checked: false, faults: 0 },
    ]);
    expect(items[1]?.health).not.toBe('action-required');
  });

  test('contains no tenant that the caller may not see', async () => {
    const { items } = await listTenants(INSTALLATION, (tenant) => tenant === 'unread', ALL);
    expect(items.map(({ tenant }) => tenant)).toEqual(['unread']);
  });
});

describe('a list of problems', () => {
  const problemOf = (code: string, tenant: string | null, clinics?: readonly string[]) =>
    ({ code, tenant, tenants: clinics?.map((clinic) => ({ tenant: clinic, waiting: 1 })) }) as never;
  const PROBLEMS = [
    ...[problemOf('b', 'beta'), problemOf('all', null), problemOf('a', 'alfa')],
    problemOf('shared', null, ['alfa', 'beta']),
  ];
  const tenants = new Map(['alfa', 'beta'].map((id) => [id, {}]));
  const installation = { tenants, unusable: [], unchecked: new Set() } as unknown as Installation;
  const list = (question: object) => {
    const page = listProblems(
      installation,
      { problems: PROBLEMS },
      { ...ALL, isWanted: () => true, withAll: true, ...question },
    );
    return { codes: page.problems.map(({ code }) => code), next: page.next };
  };

  test('begins with common problems, then continues tenant by tenant', () => {
    expect(list({})).toEqual({ codes: ['all', 'shared', 'a', 'b'], next: null });
  });

  test('contains common problems only on its first page', () => {
    const { codes, next } = list({ limit: 1 });
    expect(codes).toEqual(['all', 'shared', 'a']);
    expect(list({ limit: 1, after: next }).codes).toEqual(['b']);
  });

  test('contains no problem of other tenants', () => {
    expect(list({ withAll: false, isWanted: (tenant: string) => tenant === 'beta' }).codes).toEqual(['shared', 'b']);
    expect(list({ withAll: false, isWanted: () => false }).codes).toEqual([]);
  });
});
