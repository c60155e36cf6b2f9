export interface BrowserAnswer {
  status: number;
  headers: Headers;
  text: string;
  url: string;
}

interface KeptCookie {
  host: string;
  path: string;
  value: string;
}

/**
 * The parts of a browser that signing in needs: cookies by host and path, and redirects. Addresses that begin with
 * `publicUrl` are dialled at `address`, like behind a proxy.
 */
export class TestBrowser {
  readonly #publicUrl: string;
  readonly #address: string;
  readonly #cookies = new Map<string, KeptCookie>();
  /** The attributes of every cookie as it was set. */
  readonly setCookies: string[] = [];

  constructor(publicUrl: string, address: string) {
    this.#publicUrl = publicUrl;
    this.#address = address;
  }

  cookie(name: string): string | undefined {
    for (const [key, cookie] of this.#cookies) if (key.startsWith(`${name} `)) return cookie.value;
    return undefined;
  }

  forget(name: string): void {
    for (const key of this.#cookies.keys()) if (key.startsWith(`${name} `)) this.#cookies.delete(key);
  }

  /** Follows redirects until `until` is true for the next address. */
  async open(url: string, until: (url: string) => boolean = () => false): Promise<BrowserAnswer> {
    let current = url;
    for (let hop = 0; hop < 20; hop++) {
      const answer = await this.request('GET', current);
      const location = answer.headers.get('location');
      if (!location) return answer;
      const next = new URL(location, current).href;
      if (until(next)) return { ...answer, url: next };
      current = next;
    }
    throw new Error('too many redirects');
  }

  async request(method: string, url: string, init: { headers?: Record<string, string>; body?: string } = {}) {
    const target = url.startsWith(this.#publicUrl) ? this.#address + url.slice(this.#publicUrl.length) : url;
    const { host, pathname } = new URL(url);
    const cookies = [...this.#cookies]
      .filter(([, cookie]) => cookie.host === host && pathname.startsWith(cookie.path))
      .map(([key, cookie]) => `${key.split(' ')[0]}=${cookie.value}`);
    const headers = { ...init.headers, ...(cookies.length > 0 ? { cookie: cookies.join('; ') } : {}) };
    const response = await fetch(target, {
      method,
      headers,
      redirect: 'manual',
      ...(init.body ? { body: init.body } : {}),
    });
    for (const line of response.headers.getSetCookie()) this.#keep(line, host);
    return { status: response.status, headers: response.headers, text: await response.text(), url } as BrowserAnswer;
  }

  #keep(line: string, host: string): void {
    this.setCookies.push(line);
    const [pair = '', ...attributes] = line.split(';').map((part) => part.trim());
    const name = pair.slice(0, pair.indexOf('='));
    const read = (wanted: string) =>
      attributes.find((attribute) => attribute.toLowerCase().startsWith(`${wanted}=`))?.slice(wanted.length + 1);
    const path = read('path') ?? '/';
    const key = `${name} ${host} ${path}`;
    const isOver = read('max-age') === '0' || new Date(read('expires') ?? '2100-01-01').getTime() < Date.now();
    if (isOver) this.#cookies.delete(key);
    else this.#cookies.set(key, { host, path, value: pair.slice(pair.indexOf('=') + 1) });
  }
}
