const LOOPBACK = ['127.0.0.0/8', '::1'];

/** `outbound` of a configuration whose tenants name servers on this machine, as sandboxes are: by default none of them is reached. */
export const ON_THIS_MACHINE = {
  calendars: LOOPBACK,
  crms: LOOPBACK,
  webhooks: LOOPBACK,
  mail: LOOPBACK,
  sms: LOOPBACK,
};
