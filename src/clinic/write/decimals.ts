/** Whether two decimal texts are the same number, such as `80.5` and `80.50`. */
export function sameDecimal(one: string | null, other: string | null): boolean {
  return plain(one) === plain(other);
}

function plain(decimal: string | null): string | null {
  if (decimal === null) return null;
  const [, sign = '', whole = '', fraction = ''] = /^([+-]?)0*(\d+?)(?:\.(\d*?)0*)?$/.exec(decimal) ?? [];
  const digits = fraction === '' ? whole : `${whole}.${fraction}`;
  return sign === '-' && /[1-9]/.test(digits) ? `-${digits}` : digits;
}
