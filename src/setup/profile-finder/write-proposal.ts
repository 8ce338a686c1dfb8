import type { CheckSpecCommand } from '../../operator/cli/setup-commands.ts';
import type { ProfileCheck } from './profile-check.ts';

/** Writes the proposed profile to the requested file. */
export async function writeProposal(
  check: Pick<ProfileCheck, 'proposedProfile' | 'toDecide'>,
  file: string | undefined,
  { write, err }: Pick<CheckSpecCommand, 'write' | 'err'>,
): Promise<void> {
  if (file === undefined) return;
  await write(file, check.proposedProfile);
  const first = check.toDecide.length === 0 ? '' : ' First make the decisions listed at its top.';
  err(`The proposed profile is in ${file}.${first} Move the file to profiles/ and set its name in clinicClients.`);
}
