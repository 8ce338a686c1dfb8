import { type Language, LOCALES } from '../../../messages/message.ts';

/** Returns a function that writes a count with its noun: `1 change`, `1,134 changes`. */
export function counted(language: Language): (count: number, one: string, many: string) => string {
  const format = new Intl.NumberFormat(LOCALES[language], { useGrouping: 'always' });
  return (count, one, many) => `${format.format(count)} ${count === 1 ? one : many}`;
}
