import { clinicAddress } from '../navigation.ts';

/** Address of the page of a hold. */
export function holdAddress(tenant: string, hold: string): string {
  return clinicAddress(tenant, `/holds/${encodeURIComponent(hold)}`);
}
