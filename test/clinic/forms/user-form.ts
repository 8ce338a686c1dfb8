import fc from 'fast-check';

/** How a clinic reports the connected user and the user's tenants. */
export interface UserForm {
  list: 'tenants' | 'clinics' | 'Studios' | 'organizations' | 'practices' | 'work_places' | 'sedi' | 'accounts';
  id: 'id' | '_id' | 'uid' | 'Key' | 'tenantId' | 'clinic_id' | 'code' | 'uuid';
  shape: 'rows' | 'one' | 'ids' | 'one-id' | 'memberships' | 'keyed';
  /** Objects around the tenants; null: the answer itself is the list of tenants. */
  above: readonly string[] | null;
  /** Ids are strings, also where rows have numbers. */
  isText: boolean;
  hasName: boolean;
  /** Tenants in addition to the meant one. */
  others: 0 | 1 | 2;
  isMeantLast: boolean;
}

export const TENANT_NAME = 'Studio Uno';

/** Any user information. A bare list is the answer itself only where the tenants are a list, and one tenant is the meant one. */
export const anyUserForm: fc.Arbitrary<UserForm> = fc
  .record({
    list: fc.constantFrom<UserForm['list']>(
      'tenants',
      'clinics',
      'Studios',
      'organizations',
      'practices',
      'work_places',
      'sedi',
      'accounts',
    ),
    id: fc.constantFrom<UserForm['id']>('id', '_id', 'uid', 'Key', 'tenantId', 'clinic_id', 'code', 'uuid'),
    shape: fc.constantFrom<UserForm['shape']>('rows', 'one', 'ids', 'one-id', 'memberships', 'keyed'),
    above: fc.constantFrom<UserForm['above']>([], ['user'], ['data', 'profile'], null),
    isText: fc.boolean(),
    hasName: fc.boolean(),
    others: fc.constantFrom<UserForm['others']>(0, 1, 2),
    isMeantLast: fc.boolean(),
  })
  .map((form) => {
    const isOne = form.shape === 'one' || form.shape === 'one-id';
    const above = form.above === null && (isOne || form.shape === 'keyed') ? [] : form.above;
    return { ...form, above, others: isOne ? 0 : form.others };
  });

/** The UserInfo answer for the ids of the user's tenants. */
export function userIn(
  { list, id, shape, above, isText, hasName }: UserForm,
  ids: (string | number | bigint)[],
): unknown {
  const told = ids.map((one) => (isText ? String(one) : one));
  const named = hasName ? { name: TENANT_NAME } : {};
  const row = (one: unknown) => ({ [id]: one, ...named });
  const memberships = () => told.map((one) => ({ role: 'doctor', clinic: row(one) }));
  const keyed = () => Object.fromEntries(told.map((one) => [String(one), { ...named, role: 'doctor' }]));
  const [name, tenants] = {
    rows: () => [list, told.map(row)] as const,
    one: () => [list, row(told[0])] as const,
    ids: () => [list, told] as const,
    'one-id': () => ['clinicId', told[0]] as const,
    memberships: () => ['memberships', memberships()] as const,
    keyed: () => [list, keyed()] as const,
  }[shape]();
  if (above === null) return tenants;
  const answer = above.reduceRight<object>((within, outer) => ({ [outer]: within }), {
    [name]: tenants,
    language: 'it',
  });
  const besides = { sub: 'u1', email: 'ada@x.example', roles: ['doctor'], permissions: [{ id: 5, name: 'read' }] };
  return { ...besides, ...answer };
}

/** Paths of the tenants, and of the id and name of each; null if the path of the tenants suffices. */
export function tenantsAt({ list, id, shape, above }: UserForm): {
  path: string;
  id: string | null;
  name: string | null;
} {
  const last = { memberships: 'memberships', 'one-id': 'clinicId' }[shape as string] ?? list;
  const path = above === null ? '.' : [...above, last].join('.');
  if (shape === 'ids' || shape === 'one-id') return { path, id: null, name: null };
  if (shape === 'memberships') return { path, id: `clinic.${id}`, name: 'clinic.name' };
  return { path, id: shape === 'keyed' ? null : id, name: 'name' };
}
