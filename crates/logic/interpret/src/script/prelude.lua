-- Makes the globals that scripts see: those of Lua 5.1 as the reference offers them, and no others.
-- Runs once in every machine, before its globals are sealed. Given: the functions of `kube.rs` and `machine.rs`.
local native = ...
local error, ipairs, pairs, select, tostring, type = error, ipairs, pairs, select, tostring, type
local concat, gmatch, gsub = table.concat, string.gmatch, string.gsub
local date, floor, fmod, random, time = os.date, math.floor, math.fmod, math.random, os.time
local byte, find, match, sort, sub = string.byte, string.find, string.match, table.sort, string.sub
local tonumber, unpack = tonumber, unpack
local globals = _G

-- Removes from a library all that is not named.
local function keep(library, names)
    local kept = {}
    for name in gmatch(names, "%S+") do
        kept[name] = true
    end
    for name in pairs(library) do
        if not kept[name] then
            library[name] = nil
        end
    end
end

-- A function that is known and must not be used.
local function refuse(name)
    return function()
        error(name .. " is not available to interpretation scripts", 2)
    end
end

-- A function of ours that returns an answer or a problem; the problem is raised where the script called it.
local function checked(call)
    return function(...)
        local answer, problem = call(...)
        if problem then
            error(problem, 2)
        end
        return answer
    end
end

-- The machine counts places in 32 bits and takes what lies beyond for a place before the first. Nothing is as long as that,
-- so beyond the last place is the same wherever it is.
local FARTHEST = 2 ^ 31 - 1
local function place(number)
    local found = tonumber(number)
    if found == nil then
        return number
    elseif found > FARTHEST then
        return FARTHEST
    elseif found < -FARTHEST then
        return -FARTHEST
    end
    return found
end

-- Nobody looks at the clock inside one call, and one search may compare every byte of a text with every byte of a pattern.
-- Where that is too much, a text is looked for in another way, and nothing by a pattern. A number becomes a short text.
local VAST = 2 ^ 26
local function is_vast(text, pattern)
    local length = type(text) == "string" and #text or 32
    return length * (type(pattern) == "string" and #pattern or 32) > VAST
end
local function refuse_vast(name, text, pattern)
    if is_vast(text, pattern) then
        error(name .. ": text and pattern are too long together", 3)
    end
end

-- As the machine compares by itself, in steps that are counted: two texts that begin alike may be long.
local function is_less(one, other)
    return one < other
end

keep(table, "concat getn insert maxn remove sort")
keep(
    math,
    "abs acos asin atan atan2 ceil cos cosh deg exp floor fmod frexp huge ldexp log log10 max min modf pi pow rad"
        .. " random randomseed sin sinh sqrt tan tanh"
)
math.mod = fmod
keep(string, "byte char find format gmatch len lower match reverse sub upper")
function string.gmatch(text, pattern)
    refuse_vast("string.gmatch", text, pattern)
    return gmatch(text, pattern)
end
string.gfind = string.gmatch
function string.byte(text, first, last)
    return byte(text, place(first), place(last))
end
function string.find(text, pattern, first, plain)
    if not is_vast(text, pattern) then
        return find(text, pattern, place(first), plain)
    elseif not plain and native.isPattern(pattern) then
        refuse_vast("string.find", text, pattern)
    end
    return native.find(text, pattern, place(first))
end
function string.match(text, pattern, first)
    refuse_vast("string.match", text, pattern)
    return match(text, pattern, place(first))
end
function table.sort(list, is_before)
    return sort(list, is_before == nil and is_less or is_before)
end
function string.sub(text, first, last)
    return sub(text, place(first), place(last))
end
function table.concat(list, separator, first, last)
    return concat(list, separator, place(first), place(last))
end
function math.random(...)
    local low, high = ...
    low, high = tonumber(low), tonumber(high)
    if high == nil then
        low, high = 1, low
    end
    local is_far = low and high and (place(low) ~= low or place(high) ~= high)
    if not is_far or select("#", ...) > 2 then
        return random(...)
    elseif low > high then
        error("math.random: the interval is empty", 2)
    end
    return floor(low + random() * (high - low + 1))
end
for _, name in ipairs({ "dump", "gsub", "rep" }) do
    string[name] = refuse("string." .. name)
end

function globals.select(from, ...)
    return select(place(from), ...)
end
function globals.unpack(list, first, last)
    return unpack(list, place(first), place(last))
end

keep(
    globals,
    "assert error ipairs math next os pairs pcall select string table tonumber tostring type unpack xpcall"
)
for name in
    gmatch(
        "collectgarbage dofile getfenv getmetatable load loadfile loadstring module newproxy rawequal rawget rawset"
            .. " setfenv setmetatable",
        "%S+"
    )
do
    globals[name] = refuse(name)
end
_VERSION = "Lua 5.1"

-- Times are those of the caller, and dates are in UTC wherever the caller runs.
local function now(name)
    return native.now() or error(name .. ": there is no clock here", 3)
end

os = {
    time = function(...)
        if select("#", ...) == 0 then
            return now("os.time")
        end
        local fields = ...
        if type(fields) ~= "table" then
            error("os.time expects a table, not " .. type(fields), 2)
        end
        for _, name in ipairs({ "year", "month", "day" }) do
            if type(fields[name]) ~= "number" then
                error("os.time: the field " .. name .. " is missing", 2)
            end
        end
        return time(fields)
    end,
    date = function(format, at)
        format = format == nil and "%c" or format
        if type(format) ~= "string" then
            error("os.date expects a format, not " .. type(format), 2)
        end
        if at ~= nil and type(at) ~= "number" then
            error("os.date expects a time, not " .. type(at), 2)
        end
        format = gsub(format, "^!", "")
        format = gsub(format, "%%(.)", { F = "%Y-%m-%d" })
        return date("!" .. format, at or now("os.date"))
    end,
}

function print(...)
    local words = {}
    for position = 1, select("#", ...) do
        words[position] = tostring((select(position, ...)))
    end
    native.print(concat(words, "\t"))
end

local kube = {
    resourceAdd = checked(native.resourceAdd),
    accuratePodRequirements = checked(native.accuratePodRequirements),
    getPodDependencies = checked(native.getPodDependencies),
    getResourceQuantity = checked(native.getResourceQuantity),
}

function require(name)
    if name ~= "kube" then
        error("there is no module " .. tostring(name) .. "; the only one is kube", 2)
    end
    return kube
end

return kube
