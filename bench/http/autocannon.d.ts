/** The part of autocannon that the HTTP benchmark uses; the package ships no types. */
declare module 'autocannon' {
  export default function autocannon(options: {
    url: string;
    headers: Record<string, string>;
    connections: number;
    duration: number;
  }): Promise<{ requests: { average: number }; non2xx: number; errors: number }>;
}
