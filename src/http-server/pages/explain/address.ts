import { clinicAddress } from '../navigation.ts';

/** Address of the page that explains an appointment. */
export function explainAddress(tenant: string, appointment: string): string {
  return clinicAddress(tenant, `/explain?id=${encodeURIComponent(appointment)}`);
}
