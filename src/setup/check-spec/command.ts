import type { CheckSpecChoice, CheckSpecCommand } from '../../operator/cli/setup-commands.ts';
import { renderProfileCheck } from '../profile-finder/render-profile-check.ts';
import { writeProposal } from '../profile-finder/write-proposal.ts';
import { checkSpecification } from './check-spec.ts';

/** Compares an OpenAPI document with a profile. Exits with code 1 if the document differs, or if decisions are open. */
export async function checkSpec(file: string, choice: CheckSpecChoice, options: CheckSpecCommand): Promise<void> {
  const profile = await options.profile(choice.profile ?? 'documented');
  const answer = choice.records === undefined ? undefined : await options.read(choice.records);
  const check = checkSpecification(await options.read(file), profile, answer);
  options.print(choice, check, () => renderProfileCheck(check));
  await writeProposal(check, choice.write, options);
  if (!check.fits) options.exit(1);
}
