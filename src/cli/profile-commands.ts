import type { Command } from 'commander';
import type { ClinicProfile } from '../clinic/schema/profile.ts';
import type { ProfileCheck } from '../profile-finder/check-spec.ts';
import type { Print } from './answer.ts';

/** What the commands on profiles need of the command line. */
export interface ProfileCommands {
  /** A profile of the configuration; of the built-in `documented` there need be no file. */
  profile(name: string): Promise<ClinicProfile>;
  read(file: string): Promise<string>;
  write(file: string, text: string): Promise<void>;
  print: Print;
  err(text: string): void;
  exit(code: number): void;
}

/** Adds `check-spec`. */
export function addProfiles(program: Command, options: ProfileCommands): void {
  program
    .command('check-spec <file>')
    .description("compare a clinic system's OpenAPI document with a profile, and propose one that fits")
    .option('--profile <name>', 'a profile of the configuration; else documented')
    .option('--rows <file>', 'an answer of the list of appointments, as JSON: shows what of it can be read')
    .option('--write <file>', 'write the proposed profile there')
    .option('--json', 'as JSON')
    .action(async (file: string, choice: { profile?: string; rows?: string; write?: string; json?: boolean }) => {
      const { checkSpecification } = await import('../profile-finder/check-spec.ts');
      const { renderProfileCheck } = await import('./render-check-spec.ts');
      const profile = await options.profile(choice.profile ?? 'documented');
      const answer = choice.rows === undefined ? undefined : await options.read(choice.rows);
      const check = checkSpecification(await options.read(file), profile, answer);
      options.print(choice, check, () => renderProfileCheck(check));
      await writeProposal(check, choice.write, options);
      if (!check.fits) options.exit(1);
    });
}

/** Writes the proposed profile where it is wanted. */
export async function writeProposal(
  check: Pick<ProfileCheck, 'proposedProfile' | 'toDecide'>,
  file: string | undefined,
  { write, err }: Pick<ProfileCommands, 'write' | 'err'>,
): Promise<void> {
  if (file === undefined) return;
  await write(file, check.proposedProfile);
  const first = check.toDecide.length === 0 ? '' : ' Decide first what stands at its head.';
  err(`The proposed profile is in ${file}.${first} Put it into profiles/ and name it in clinicClients.`);
}
