/** URL of a clinic's page, or of one below it. @param path begins with `/` or `?` */
export function clinicAddress(tenant: string, path = ''): string {
  return `/tenants/${encodeURIComponent(tenant)}${path}`;
}

/** URL of the page that explains an appointment. */
export function explainAddress(tenant: string, appointment: string): string {
  return clinicAddress(tenant, `/explain?id=${encodeURIComponent(appointment)}`);
}

/** URL of the page of a hold. */
export function holdAddress(tenant: string, hold: string): string {
  return clinicAddress(tenant, `/holds/${encodeURIComponent(hold)}`);
}
