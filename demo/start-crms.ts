import type { ClinicSandbox } from '../sandbox/clinic/index.ts';
import type { CrmOwner, DemoCrm } from './crm.ts';
import { startHubSpotCrm } from './crm-hubspot.ts';
import { startSalesforceCrm } from './crm-salesforce.ts';

/** Starts HubSpot for the first clinic and Salesforce for the second. @param tenants as the daemon calls them */
export function startCrms(
  tenants: readonly string[],
  clinic: ClinicSandbox,
  rest: Pick<CrmOwner, 'window' | 'unexplained'>,
): Promise<DemoCrm[]> {
  const starters = [startHubSpotCrm, startSalesforceCrm];
  return Promise.all(
    starters.flatMap((start, index) => {
      const [tenant, source] = [tenants[index], clinic.tenants[index]];
      return tenant === undefined || source === undefined
        ? []
        : [start({ tenant, clinic, clinicId: source.id, ...rest })];
    }),
  );
}
