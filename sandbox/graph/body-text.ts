/** Text or HTML of an event. */
export interface ItemBody {
  contentType: 'text' | 'html';
  content: string;
}

/**
 * Returns a body in the form that Exchange answers. Unless the client requests text, the body is HTML, wrapped in a document, with CRLF
 * line ends. A body sent as text therefore never returns byte for byte.
 */
export function normalizedBody(stored: ItemBody, wanted: 'text' | 'html'): ItemBody {
  if (wanted === 'text') {
    const text = stored.contentType === 'html' ? toText(stored.content) : stored.content;
    return { contentType: 'text', content: text === '' ? '' : `${withCrLf(text.replace(/\s+$/, ''))}\r\n` };
  }
  const html = stored.contentType === 'text' ? toHtml(stored.content) : stored.content;
  return { contentType: 'html', content: html === '' ? '' : wrapped(withCrLf(html)) };
}

/** The first 255 characters of a body's text. */
export function bodyPreview(stored: ItemBody): string {
  const text = stored.contentType === 'html' ? toText(stored.content) : stored.content;
  return withCrLf(text.trim()).slice(0, 255);
}

function wrapped(html: string): string {
  if (/<html[\s>]/i.test(html)) {
    return html;
  }
  const meta = '<meta http-equiv="Content-Type" content="text/html; charset=utf-8">';
  return `<html>\r\n<head>\r\n${meta}\r\n</head>\r\n<body>\r\n${html}\r\n</body>\r\n</html>\r\n`;
}

function toHtml(text: string): string {
  const escaped = text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
  return escaped === '' ? '' : `<div class="PlainText">${escaped.replace(/\r?\n/g, '<br>\n')}</div>`;
}

function toText(html: string): string {
  const body = /<body[^>]*>([\s\S]*)<\/body>/i.exec(html)?.[1] ?? html;
  const lines = body
    .replace(/\r?\n/g, '')
    .replace(/<br\s*\/?>|<\/(?:p|div)>/gi, '\n')
    .replace(/<[^>]*>/g, '');
  const entities: Record<string, string> = { '&lt;': '<', '&gt;': '>', '&quot;': '"', '&#39;': "'", '&nbsp;': ' ' };
  return lines.replace(/&(?:lt|gt|quot|#39|nbsp);/g, (entity) => entities[entity] ?? entity).replaceAll('&amp;', '&');
}

function withCrLf(text: string): string {
  return text.replace(/\r?\n/g, '\r\n');
}
