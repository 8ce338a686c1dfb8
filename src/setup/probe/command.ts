import type { ProbeChoice, ProbeCommand } from '../../operator/cli/setup-commands.ts';
import type { ClinicAccess } from '../../operator/control/clinic.ts';
import { renderProfileCheck } from '../profile-finder/render-profile-check.ts';
import { writeProposal } from '../profile-finder/write-proposal.ts';
import { probeClinic } from './probe.ts';

/** Proposes a profile from the clinic's answers to read requests. Exits with code 1 if the clinic differs from its profile. */
export async function probe(access: ClinicAccess, choice: ProbeChoice, options: ProbeCommand): Promise<void> {
  const progress = options.progress();
  const probed = await probeClinic(access, progress, options.signal).finally(() => progress.end());
  options.print(choice, probed, () => `Requests sent: ${probed.requests}.\n\n${renderProfileCheck(probed)}`);
  await writeProposal(probed, choice.write, options);
  if (!probed.fits) options.exit(1);
}
