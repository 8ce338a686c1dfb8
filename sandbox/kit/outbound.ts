const LOOPBACK = ['127.0.0.0/8', '::1'];

/** `outbound` of a configuration whose tenants use sandboxes on this host: by default clinic-mirror connects to no loopback server. */
export const ON_THIS_MACHINE = {
  calendars: LOOPBACK,
  crms: LOOPBACK,
  webhooks: LOOPBACK,
  mail: LOOPBACK,
  sms: LOOPBACK,
};
