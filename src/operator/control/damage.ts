import { needsPerson, type Problem } from '../../core/model/problems.ts';
import type { DamagedState } from '../../core/model/state-schemas.ts';
import { message } from '../../messages/message.ts';
import { DAMAGED } from '../../state/damaged.ts';
import type { Installation } from './installation.ts';

/** Returns damaged data by current tenant ids. @param only null: of all tenants, and shared data */
export async function damagedOf(
  { damaged, outlines }: Pick<Installation, 'damaged' | 'outlines'>,
  only: readonly string[] | null,
): Promise<DamagedState[]> {
  const formerly = new Map(Array.from(outlines, ([id, outline]) => [outline.formerly ?? id, id]));
  return (await damaged.list()).flatMap(({ tenant: stored, ...state }) => {
    const tenant = stored === null ? null : (formerly.get(stored) ?? stored);
    const isShown = tenant === null ? only === null : (only?.includes(tenant) ?? outlines.has(tenant));
    return isShown ? [{ tenant, ...state }] : [];
  });
}

/** Returns the problem of a tenant's damaged data, or of shared data. */
export function damageProblem({ tenant, kinds, sinceAt }: DamagedState): Problem {
  const sentence = message('state-damaged.kinds', { kinds: kinds.join(', ') });
  const subject = message('subject.state');
  return {
    ...needsPerson({ tenant, subject, code: DAMAGED.code, sentence, next: DAMAGED.texts.remedy }),
    sinceAt,
  };
}
