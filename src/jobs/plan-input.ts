import { planTargets } from '../sync/plan-targets.ts';
import type { TargetPlan } from '../sync/target-plan.ts';
import type { Left } from './cycle.ts';
import { inPieces } from './in-pieces.ts';
import type { Loaded } from './load.ts';
import type { OpenTenant } from './tenant.ts';

/** Has the plan made of what was loaded, and keeps for the next cycle who was found to be gone. */
export async function planInput(
  { log }: Pick<OpenTenant, 'log'>,
  { input, basis }: Pick<Loaded, 'input' | 'basis'>,
  signal: AbortSignal,
): Promise<{ plans: TargetPlan[]; failed: Left[] }> {
  const { plans, failed, gone } = await inPieces(planTargets(input), signal);
  for (const [contacts, patients] of gone) basis.survey.streams.patients?.gone.set(contacts, patients);
  for (const [target, { code, actor }] of failed) log.warn({ target, code, actor }, 'a target could not be planned');
  return { plans, failed: [...failed].map(([target, { code }]) => ({ target, code })) };
}
