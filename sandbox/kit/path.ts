/** The parts of a path, decoded; one that can't be decoded is empty. */
export function segmentsOf(path: string): string[] {
  return path.split('/').map(decode);
}

/** What a pattern such as `/events/:eventId` names in a path, both by their segments; undefined when it doesn't fit. */
export function bindSegments(
  pattern: readonly string[],
  segments: readonly string[],
): Record<string, string> | undefined {
  if (pattern.length !== segments.length) return undefined;
  const parameters: Record<string, string> = {};
  for (const [index, part] of pattern.entries()) {
    const segment = segments[index] ?? '';
    if (part.startsWith(':') && segment !== '') parameters[part.slice(1)] = segment;
    else if (part !== segment) return undefined;
  }
  return parameters;
}

function decode(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return '';
  }
}
