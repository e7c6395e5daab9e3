/** The zlib dictionary for SPDY header blocks (SPDY protocol, draft 3.1, section 2.6.10.1). */

/** Each word follows its length in four bytes. */
const words =
  'options head post put delete trace accept accept-charset accept-encoding accept-language accept-ranges age ' +
  'allow authorization cache-control connection content-base content-encoding content-language content-length ' +
  'content-location content-md5 content-range content-type date etag expect expires from host if-match ' +
  'if-modified-since if-none-match if-range if-unmodified-since last-modified location max-forwards pragma ' +
  'proxy-authenticate proxy-authorization range referer retry-after server te trailer transfer-encoding upgrade ' +
  'user-agent vary via warning www-authenticate method get status 200_OK version HTTP/1.1 url public set-cookie ' +
  'keep-alive origin';

/** The end of the dictionary is plain text. */
const tail =
  '100101201202205206300302303304305306307402405406407408409410411412413414415416417502504505' +
  '203 Non-Authoritative Information204 No Content301 Moved Permanently400 Bad Request401 Unauthorized' +
  '403 Forbidden404 Not Found500 Internal Server Error501 Not Implemented503 Service Unavailable' +
  'Jan Feb Mar Apr May Jun Jul Aug Sept Oct Nov Dec 00:00:00 Mon, Tue, Wed, Thu, Fri, Sat, Sun, GMT' +
  'chunked,text/html,image/png,image/jpg,image/gif,application/xml,application/xhtml+xml,text/plain,' +
  'text/javascript,publicprivatemax-age=gzip,deflate,sdchcharset=utf-8charset=iso-8859-1,utf-,*,enq=0.';

export const spdyDictionary: Buffer = Buffer.concat([
  ...words.split(' ').map((word) => {
    const text = Buffer.from(word.replace('_', ' '), 'latin1');
    const length = Buffer.alloc(4);
    length.writeUInt32BE(text.length);
    return Buffer.concat([length, text]);
  }),
  Buffer.from(tail, 'latin1'),
]);

/** DICTID, the checksum that names the dictionary in a zlib stream (RFC 1950, section 2.2). */
export const spdyDictionaryAdler32 = 0xe3c6a7c2;
