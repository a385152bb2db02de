/* SPDX-License-Identifier: Apache-2.0 */
/* RFC 3339 in and out, without the C library's locale and time zone. */
#include "slu/model/time.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

void
slu_time_write(int64_t unix_ms, char ret_text[SLU_TIME_TEXT_SIZE])
{
    int64_t seconds = unix_ms / 1000;
    int64_t ms = unix_ms % 1000;
    if (ms < 0) {
        ms += 1000;
        seconds--;
    }

    const time_t when = (time_t) seconds;
    struct tm parts = {0};
    const bool known = gmtime_r(&when, &parts);
    assert(known && parts.tm_year + 1900 >= 0 && parts.tm_year + 1900 <= 9999);
    snprintf(ret_text, SLU_TIME_TEXT_SIZE, "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ",
             parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday, parts.tm_hour, parts.tm_min,
             parts.tm_sec, (int) ms);
}

/* Takes exactly `digits` digits. */
static bool
take_number(const char **at, int digits, int *ret_number)
{
    int number = 0;
    for (int i = 0; i < digits; i++, (*at)++) {
        if (**at < '0' || **at > '9')
            return false;
        number = number * 10 + (**at - '0');
    }
    *ret_number = number;
    return true;
}

static bool
take_char(const char **at, const char *allowed)
{
    if (**at == '\0' || !strchr(allowed, **at))
        return false;
    (*at)++;
    return true;
}

/* ".5", ".123456789": the first three digits count. */
static bool
take_fraction(const char **at, int *ret_ms)
{
    *ret_ms = 0;
    if (!take_char(at, "."))
        return true;

    int weight = 100;
    const char *first = *at;
    for (; **at >= '0' && **at <= '9'; (*at)++) {
        *ret_ms += weight * (**at - '0');
        weight /= 10;
    }
    return *at > first;
}

static bool
take_offset(const char **at, int *ret_seconds)
{
    *ret_seconds = 0;
    if (take_char(at, "Zz"))
        return true;

    const int sign = **at == '-' ? -1 : 1;
    int hours, minutes;
    if (!take_char(at, "+-") || !take_number(at, 2, &hours) || !take_char(at, ":") ||
        !take_number(at, 2, &minutes) || hours > 23 || minutes > 59)
        return false;
    *ret_seconds = sign * (hours * 3600 + minutes * 60);
    return true;
}

static bool
take_date(const char **at, struct tm *ret_parts)
{
    int year, month, day;
    if (!take_number(at, 4, &year) || !take_char(at, "-") || !take_number(at, 2, &month) ||
        !take_char(at, "-") || !take_number(at, 2, &day))
        return false;

    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    const bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    if (month < 1 || month > 12 || day < 1 || day > days[month - 1] + (leap && month == 2))
        return false;
    ret_parts->tm_year = year - 1900;
    ret_parts->tm_mon = month - 1;
    ret_parts->tm_mday = day;
    return true;
}

/* A leap second (60) is taken as the first moment of the next minute. */
static bool
take_clock(const char **at, struct tm *ret_parts)
{
    return take_number(at, 2, &ret_parts->tm_hour) && take_char(at, ":") &&
           take_number(at, 2, &ret_parts->tm_min) && take_char(at, ":") &&
           take_number(at, 2, &ret_parts->tm_sec) && ret_parts->tm_hour <= 23 &&
           ret_parts->tm_min <= 59 && ret_parts->tm_sec <= 60;
}

bool
slu_time_read(const char *text, int64_t *ret_unix_ms)
{
    struct tm parts = {0};
    int ms, offset_seconds;

    if (!take_date(&text, &parts) || !take_char(&text, "Tt ") || !take_clock(&text, &parts) ||
        !take_fraction(&text, &ms) || !take_offset(&text, &offset_seconds) || *text)
        return false;
    *ret_unix_ms = ((int64_t) timegm(&parts) - offset_seconds) * 1000 + ms;
    return true;
}
