/** System calls that come before the first byte of a request. */
const BEFORE_SENDING = new Set(['connect', 'getaddrinfo', 'queryA', 'queryAaaa']);
/** OpenSSL's and Node's names of a certificate that was not accepted (https://nodejs.org/api/tls.html#x509-certificate-error-codes). */
const CERTIFICATE_REFUSED = /^(CERT_|ERR_TLS_CERT_|UNABLE_TO_)|SELF_SIGNED_CERT/;

/** Whether a failure shows that no connection was made, so that the other side surely has nothing of the request. */
export function neverConnected(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  if (error instanceof AggregateError) return error.errors.length > 0 && error.errors.every(neverConnected);
  if ('syscall' in error && BEFORE_SENDING.has(String(error.syscall))) return true;
  const reason = 'code' in error ? String(error.code) : '';
  if (reason === 'UND_ERR_CONNECT_TIMEOUT' || CERTIFICATE_REFUSED.test(reason)) return true;
  return neverConnected(error.cause);
}
